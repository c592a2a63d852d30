// Shared by the other scripts: the data of the page, and elements whose content is always text.
"use strict";
const capscope = (() => {
  let read;

  /** Make an element; children are elements or text, and text is never parsed as HTML. */
  function element(tag, attributes = {}, ...children) {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (value !== undefined && value !== null) made.setAttribute(name, value);
    }
    made.append(...children.filter((child) => child !== null && child !== undefined));
    return made;
  }

  /** Show a picture that is embedded in the page, or nothing. */
  function picture(address, description) {
    if (!/^data:image\/(png|jpeg|gif|webp);base64,/.test(address)) return null;
    return element("img", { class: "picture", src: address, alt: description, loading: "lazy" });
  }

  /** Say a literal, or several joined, in words if the vocabulary has a phrase for it. */
  function said(text) {
    return text.split(/( and | or )/).map(saidLiteral).join("");
  }

  function saidLiteral(text) {
    const [, not, name, inside] = /^(not )?([^\s(),]+)\(([^()]*)\)$/.exec(text) ?? [];
    const phrases = capscope.data.phrases;
    if (name === undefined || !Object.hasOwn(phrases, name)) return text;
    const given = inside.split(",").map((part) => part.trim());
    let known = true;
    const filled = phrases[name][not ? 1 : 0].replace(/\{(\d+)\}/g, (_, place) => {
      known &&= place < given.length;
      return given[place];
    });
    return known ? filled : text;
  }

  /** Show a literal: in words, with the formal name as a tooltip. */
  function term(text, kind = "") {
    const words = said(text);
    if (words === text) {
      // A line may break after a parenthesis or a comma rather than anywhere.
      const parts = text.split(/(?<=[(,])/).flatMap((part) => [element("wbr"), part]);
      return element("span", { class: `term ${kind}` }, ...parts.slice(1));
    }
    return element("span", { class: `term said ${kind}`, title: text }, words);
  }

  /** Format a share in percent that is 0 % or 100 % only if it is exactly that. */
  function share(value) {
    const percent = 100 * value;
    if (percent > 0 && percent < 0.1) return "<0.1 %";
    if (percent > 99.9 && percent < 100) return ">99.9 %";
    const whole = percent === 0 || percent === 100 || (percent >= 1 && percent <= 99);
    return `${percent.toFixed(whole ? 0 : 1)} %`;
  }

  const numbers = new Intl.NumberFormat("en");

  return {
    element,
    picture,
    said,
    term,
    share,
    grouped: (number) => numbers.format(number),
    counted: (number, noun) => `${numbers.format(number)} ${noun}${number === 1 ? "" : "s"}`,
    get data() {
      read ??= JSON.parse(document.getElementById("digest").textContent);
      return read;
    },
    /** Return the current colors of the page, for drawing on a canvas. */
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
