// Light or dark: the preference of the system until the button is used. Nothing is stored.
// Runs in the head: the class `js` hides what scripts will expand before it is ever shown.
"use strict";
(() => {
  const root = document.documentElement;
  root.classList.add("js");
  const system = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (root.dataset.theme ?? (system.matches ? "dark" : "light")) === "dark";

  document.addEventListener("DOMContentLoaded", () => {
    const button = document.getElementById("theme");
    const show = () => {
      button.setAttribute("aria-pressed", String(isDark()));
      // The map is drawn with colors read from the page, so it has to read them again.
      document.dispatchEvent(new Event("themechange"));
    };
    button.addEventListener("click", () => {
      root.dataset.theme = isDark() ? "light" : "dark";
      show();
    });
    system.addEventListener("change", show);
    show();

    // Always print in light colors.
    let chosen;
    addEventListener("beforeprint", () => {
      chosen = root.dataset.theme;
      root.dataset.theme = "light";
      show();
    });
    addEventListener("afterprint", () => {
      if (chosen === undefined) delete root.dataset.theme;
      else root.dataset.theme = chosen;
      show();
    });
  });
})();
