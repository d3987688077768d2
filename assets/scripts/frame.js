// Choices made on a page replace its address instead of adding to the history, so that Back leads to the page before; a tab is a
// step of its own, from which Back leads to the tab before.
//
// While a page opens, what stands after the first place that is still without its widget is not shown (`opening` in app.css):
// Streamlit draws a bar of another height there, and everything below would jump when the widget comes.
if (!window.observatoryHistory) {
  const root = document.documentElement;
  const opening = () => {
    root.classList.add("opening");
    const began = performance.now();
    let ready = 0;
    let idle = false;
    const look = setInterval(() => {
      const main = document.querySelector('[data-testid="stMain"]');
      const begun = main?.querySelector('[data-testid="stElementContainer"]') && !main.querySelector('[data-testid="stSkeleton"]');
      ready = begun ? ready + 1 : 0;
      idle ||= Boolean(begun && document.querySelector('[data-testid="stApp"][data-test-script-state="notRunning"]'));
      if ((ready < 5 || !idle) && performance.now() - began < 10_000) return;
      clearInterval(look);
      root.classList.remove("opening");
    }, 100);
  };
  const TABS = ["view", "inside", "seen_below", "sview", "network", "part"]; // parameters of the pages' tabs
  window.observatoryHistory = history.pushState.bind(history);
  history.pushState = (state, title, url) => {
    const to = new URL(url ?? "", location.href);
    const samePage = url !== undefined && to.pathname === location.pathname;
    const from = new URLSearchParams(location.search);
    if (samePage && TABS.every((tab) => to.searchParams.get(tab) === from.get(tab))) return history.replaceState(state, title, url);
    if (!samePage) opening();
    return window.observatoryHistory(state, title, url);
  };
  opening();
  // Where no page can speak: the server is lost, or takes longer than five seconds to answer.
  const WAIT_MS = 5_000;
  const notice = document.createElement("p");
  notice.id = "frame-notice";
  notice.role = "status";
  document.addEventListener("DOMContentLoaded", () => document.body.append(notice));
  let answered = performance.now();
  let met = false;
  setInterval(() => {
    const app = document.querySelector('[data-testid="stApp"]');
    const main = app?.querySelector('[data-testid="stMain"]');
    const connected = app?.dataset.testConnectionState === "CONNECTED";
    const stands = main?.querySelector("h1, h2, [data-testid='stElementContainer']") && !main.querySelector('[data-stale="true"] h1');
    if (connected && stands) answered = performance.now();
    met ||= connected;
    const waits = performance.now() - answered > WAIT_MS;
    const lost = met && !connected;
    root.classList.toggle("lost", lost);
    const chosen = new URL(location.href).searchParams.get("lang") ?? navigator.language;
    const words = window.observatoryWords[chosen.startsWith("es") ? "es" : "en"];
    root.style.setProperty("--light-waits", JSON.stringify(words.light));
    const text = !waits ? "" : lost ? words.lost : words.starting;
    if (notice.textContent !== text) notice.textContent = text;
  }, 250);
  // A formula that is wider than its place can be scrolled by key, too.
  const scrollable = () => {
    for (const formula of document.querySelectorAll(".katex-display")) {
      if (formula.scrollWidth > formula.clientWidth) formula.tabIndex = 0;
      else formula.removeAttribute("tabindex");
    }
  };
  let waiting = null;
  const later = () => (waiting ??= setTimeout(() => ((waiting = null), scrollable()), 300));
  new MutationObserver(later).observe(root, { childList: true, subtree: true });
  window.addEventListener("resize", later);
  // "/" opens the search as its button does, and its line takes what is typed.
  document.addEventListener("keydown", (event) => {
    if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.closest?.("input, textarea, select, [contenteditable], [role=dialog]")) return;
    const button = document.querySelector(".st-key-search button");
    if (!button) return;
    event.preventDefault();
    button.click();
  });
  let searchOpens = null;
  document.addEventListener("click", (event) => {
    if (!event.target.closest?.(".st-key-search button")) return;
    clearInterval(searchOpens); // the server may take its time over the dialog
    searchOpens = setInterval(() => {
      const line = document.querySelector(".st-key-search_for input");
      if (!line) return;
      line.focus();
      clearInterval(searchOpens);
    }, 50);
  });
}
