// Colors: light, dark, or what the system says. Run before anything is drawn, so that nothing flashes.
(() => {
  "use strict";
  const KEY = "shunter-theme";
  const root = document.documentElement;
  const kept = () => { try { return localStorage.getItem(KEY) || ""; } catch { return ""; } };
  const apply = (theme) => {
    if (theme) root.dataset.theme = theme; else delete root.dataset.theme;
    for (const button of document.querySelectorAll("[data-theme-choice]")) {
      button.setAttribute("aria-pressed", String(button.dataset.themeChoice === theme));
    }
    window.dispatchEvent(new Event("theme"));
  };
  apply(kept());
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => window.dispatchEvent(new Event("theme")));
  document.addEventListener("DOMContentLoaded", () => {
    apply(kept());
    for (const button of document.querySelectorAll("[data-theme-choice]")) {
      button.addEventListener("click", () => {
        const theme = button.dataset.themeChoice;
        try { localStorage.setItem(KEY, theme); } catch { /* It holds for this page, then. */ }
        apply(theme);
      });
    }
  });
})();
