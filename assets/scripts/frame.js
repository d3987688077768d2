// Choices made on a page replace its address instead of adding to the history, so that Back leads to the page before.
if (!window.observatoryHistory) {
  window.observatoryHistory = history.pushState.bind(history);
  history.pushState = (state, title, url) => {
    const samePage = url !== undefined && new URL(url, location.href).pathname === location.pathname;
    return samePage ? history.replaceState(state, title, url) : window.observatoryHistory(state, title, url);
  };
}
