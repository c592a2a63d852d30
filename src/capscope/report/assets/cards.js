// Pictures of the states on the ways of cards; each is embedded once, in the data of the page.
"use strict";
(() => {
  const { picture } = capscope;
  for (const place of document.querySelectorAll("[data-picture]")) {
    const [name, , , address] = capscope.data.states[place.dataset.picture];
    const shown = picture(address, `Picture of ${name}`);
    if (shown) place.append(shown);
    else place.remove();
  }

  const button = document.getElementById("all-findings");
  const showAll = () => {
    document.querySelector(".cards").classList.add("all");
    button.parentElement.remove();
  };
  button?.addEventListener("click", showAll);

  // A link may lead to a card that is not shown yet.
  function follow() {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!target?.matches(".card.further") || !button?.isConnected) return;
    showAll();
    target.scrollIntoView();
  }
  addEventListener("hashchange", follow);
  follow();
})();
