// One view for each element that Streamlit gives.

const views = new WeakMap();

// A component's `receive`: `make` builds the view of an element once, `view.show` takes each frame in, `view.close` ends it.
export function mounted(make) {
  return (component) => {
    const { parentElement, data } = component;
    if (!views.has(parentElement)) views.set(parentElement, make(parentElement));
    const view = views.get(parentElement);
    view.component = component;
    view.show(data);
    // Streamlit also calls this for what a newer frame overtook: only an element that left the page takes its view along.
    return () =>
      setTimeout(() => {
        if (parentElement.isConnected || views.get(parentElement) !== view) return;
        views.delete(parentElement);
        view.close();
      });
  };
}
