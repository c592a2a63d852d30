// What the other scripts share: the data of the page, and elements whose content is always text.
"use strict";
const capscope = (() => {
  let read;

  /** Make an element; children are elements or text, and text is never read as HTML. */
  function element(tag, attributes = {}, ...children) {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (value !== undefined && value !== null) made.setAttribute(name, value);
    }
    made.append(...children.filter((child) => child !== null && child !== undefined));
    return made;
  }

  /** Show a picture that is part of the page, or nothing. */
  function picture(address, words) {
    if (!/^data:image\/(png|jpeg|gif|webp);base64,/.test(address)) return null;
    return element("img", { class: "picture", src: address, alt: words, loading: "lazy" });
  }

  /** Write a share in per cent, never rounded to all or nothing. */
  function share(value) {
    const perCent = 100 * value;
    if (perCent > 0 && perCent < 0.1) return "<0.1 %";
    if (perCent > 99.9 && perCent < 100) return ">99.9 %";
    const whole = perCent === 0 || perCent === 100 || (perCent >= 1 && perCent <= 99);
    return `${perCent.toFixed(whole ? 0 : 1)} %`;
  }

  const numbers = new Intl.NumberFormat("en");

  return {
    element,
    picture,
    share,
    grouped: (number) => numbers.format(number),
    counted: (number, noun) => `${numbers.format(number)} ${noun}${number === 1 ? "" : "s"}`,
    get data() {
      read ??= JSON.parse(document.getElementById("digest").textContent);
      return read;
    },
    /** Read the colours of the page's scheme as they are now, for what is painted with pixels. */
    painted(names) {
      const probe = document.body.appendChild(element("span"));
      const found = names.map((name) => {
        probe.style.color = `var(--${name})`;
        return [name, getComputedStyle(probe).color];
      });
      probe.remove();
      return Object.fromEntries(found);
    },
  };
})();
