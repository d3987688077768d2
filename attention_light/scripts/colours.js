// Colours of styles/colours.css, for what is drawn on a canvas.

const written = getComputedStyle(document.documentElement);
export const colour = (name) => written.getPropertyValue(`--ao-${name}`).trim();

// [red, green, blue], 0 to 255.
export const parts = (name) => colour(name).match(/[0-9a-f]{2}/gi).map((two) => parseInt(two, 16));
