// Before anything is drawn: light or dark as the system has it, unless somebody chose.
(() => {
  const root = document.documentElement;
  if (root.dataset.bsTheme) return;
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const follow = () => { root.dataset.bsTheme = dark.matches ? "dark" : "light"; document.dispatchEvent(new Event("desk:theme")); };
  follow();
  dark.addEventListener("change", follow);
})();
