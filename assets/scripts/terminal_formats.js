// Numbers, sizes and times as the reader's language and time zone write them.

export function formats(config) {
  const cache = new Map();
  const formatter = (key, options) => {
    if (!cache.has(key)) cache.set(key, new Intl.NumberFormat(config.locale, options));
    return cache.get(key);
  };
  const fixed = (digits) => formatter(`f${digits}`, { minimumFractionDigits: digits, maximumFractionDigits: digits });
  const digits = (step) => {
    for (let d = 0; d < 9; d++) if (step > 0 && Math.abs(step * 10 ** d - Math.round(step * 10 ** d)) < 1e-6) return d;
    return 9;
  };
  let [priceDigits, midDigits] = [2, 3];
  const clock = new Intl.DateTimeFormat(config.locale, { hour: "2-digit", minute: "2-digit", second: "2-digit", hour12: false, timeZone: config.zone });
  const day = new Intl.DateTimeFormat(config.locale, { dateStyle: "medium", timeZone: config.zone });
  return {
    setTick: (tick) => ([priceDigits, midDigits] = [digits(tick), digits(tick / 2)]), // a mid lies on half ticks
    price: (value) => fixed(priceDigits).format(value),
    mid: (value) => fixed(midDigits).format(value),
    number: (value, places) => (Number.isFinite(value) ? fixed(places).format(value) : "–"),
    percent: (value) => formatter("p", { style: "percent", minimumFractionDigits: 1, maximumFractionDigits: 1 }).format(value),
    span: (value, unit) => formatter(unit, { style: "unit", unit, unitDisplay: "short" }).format(value),
    short: (value) => formatter("c", { maximumSignificantDigits: 2, notation: "compact" }).format(value),
    significant: (value) => formatter("s", { maximumSignificantDigits: 3 }).format(value),
    signed: (value) => formatter("d", { maximumSignificantDigits: 4, signDisplay: "exceptZero" }).format(value),
    push: (value) => formatter("h", { minimumFractionDigits: 2, maximumFractionDigits: 2, signDisplay: "always" }).format(value),
    change: (value) => formatter("g", { maximumSignificantDigits: 2, signDisplay: "always" }).format(value),
    time: (value) => clock.format(value),
    date: (value) => day.format(value),
  };
}
