// The live page is dark unless the reader chose Light: where Streamlit follows the system's setting, that page counts as dark.
// Runs before Streamlit, which asks the browser for the setting and listens for its changes.
{
  const DARK = "(prefers-color-scheme: dark)";
  const ask = window.matchMedia.bind(window);
  const system = ask(DARK);
  const livePage = window.observatoryAddress("live").pathname;
  const setting = new EventTarget();
  const dark = () => system.matches || location.pathname === livePage;
  Object.defineProperty(setting, "matches", { get: dark });
  let before = dark();
  const compare = () => {
    if (dark() === before) return;
    before = dark();
    setting.dispatchEvent(new Event("change"));
  };
  system.addEventListener("change", compare);
  window.addEventListener("popstate", compare);
  for (const name of ["pushState", "replaceState"]) {
    const plain = history[name].bind(history);
    history[name] = (...given) => {
      plain(...given);
      compare();
    };
  }
  window.matchMedia = (query) => (query === DARK ? setting : ask(query));
}
