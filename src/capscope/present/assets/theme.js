// Light or dark: what the system prefers, until the button says otherwise. Nothing is stored.
// Runs in the head: the class `js` hides what scripts will open before it was ever shown.
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
      // Charts are painted with colours read off the page, so they are told to read them again.
      document.dispatchEvent(new Event("themechange"));
    };
    button.addEventListener("click", () => {
      root.dataset.theme = isDark() ? "light" : "dark";
      show();
    });
    system.addEventListener("change", show);
    show();

    // Paper is white, whatever the screen is.
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
