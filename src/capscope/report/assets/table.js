// The table of capabilities: expand rows, search, filter by standing, sort, link to a row.
"use strict";
(() => {
  const table = document.querySelector(".capabilities");
  const search = document.getElementById("search");
  const found = document.getElementById("found");
  const rows = [...table.tBodies].map((body) => ({
    body,
    button: body.querySelector("button.open"),
    values: [...body.rows[0].cells].map((cell) => cell.dataset.value),
  }));
  const standings = new Set();
  const MOST_MARKS = 1500;
  const counted = (number) => `${number} ${number === 1 ? "capability" : "capabilities"}`;

  // --- opening ---

  function open(row, wanted, marking = true) {
    row.body.classList.toggle("opened", wanted);
    row.button.setAttribute("aria-expanded", String(wanted));
    if (wanted && marking) highlight(sought());
  }
  const isOpen = (row) => row.body.classList.contains("opened");
  const visible = () => [...table.tBodies].filter((body) => !body.hidden);

  for (const row of rows) {
    row.body.rows[0].addEventListener("click", (event) => {
      const selecting = !getSelection().isCollapsed;
      if (event.target.closest("button.open") || !selecting) open(row, !isOpen(row));
    });
    row.button.addEventListener("keydown", (event) => {
      const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
      if (!step) return;
      event.preventDefault();
      const shown = visible();
      shown[shown.indexOf(row.body) + step]?.querySelector("button.open").focus();
    });
  }

  const openAll = document.getElementById("open-all");
  openAll.addEventListener("click", () => {
    const wanted = openAll.textContent === "Expand all";
    for (const row of rows) if (!row.body.hidden) open(row, wanted, false);
    highlight(sought());
    openAll.textContent = wanted ? "Collapse all" : "Expand all";
  });

  table.addEventListener("click", (event) => {
    const button = event.target.closest("button[data-further]");
    if (!button) return;
    const opened = button.closest(".when").classList.toggle("all");
    button.setAttribute("aria-expanded", String(opened));
  });

  /** Open a capability and dim its rules but these. */
  capscope.openRules = (number, wanted) => {
    const row = rows.find(({ body }) => Number(body.dataset.number) === number);
    if (row.body.hidden) reset();
    open(row, true);
    for (const rule of row.body.querySelectorAll(".rule"))
      rule.classList.toggle("apart", !wanted.includes(Number(rule.dataset.rule)));
    row.body.scrollIntoView();
    row.button.focus({ preventScroll: true });
  };

  // --- searching ---

  // What is searched: the intent, and the terms of each rule. Collected once, when first needed.
  let texts;
  function gathered() {
    texts ??= rows.map(({ body }) => ({
      // In words and by its formal name.
      intent: `${body.querySelector("button.open").textContent} ${body.rows[0].cells[0].dataset.value}`.toLowerCase(),
      rules: [...body.querySelectorAll(".rule")].map((rule) => ({
        rule,
        text: [...rule.querySelectorAll(".term")]
          .map((term) => `${term.textContent} ${term.title}`)
          .join("\n")
          .toLowerCase(),
      })),
    }));
    return texts;
  }

  const sought = () => search.value.toLowerCase().split(/\s+/).filter(Boolean);

  function apply() {
    const words = sought();
    const all = gathered();
    let shown = 0;
    rows.forEach((row, i) => {
      const { intent, rules } = all[i];
      const missing = words.filter((word) => !intent.includes(word));
      const matching = rules.filter(({ text }) => missing.every((word) => text.includes(word)));
      const matches = missing.length === 0 || matching.length > 0;
      row.body.hidden = !(
        matches &&
        (standings.size === 0 || standings.has(row.body.dataset.standing))
      );
      if (row.body.hidden) return;
      shown += 1;
      // A word found in the intent counts for all of its rules.
      for (const { rule } of rules) rule.classList.toggle("apart", missing.length > 0);
      for (const { rule } of matching) rule.classList.remove("apart");
    });
    const whole = counted(rows.length);
    found.textContent = shown === rows.length ? whole : `${shown} of ${whole}`;
    document.getElementById("none-found").hidden = shown > 0;
    highlight(words);
  }

  /** Highlight the search words if the browser supports it without changing the document. */
  function highlight(words) {
    if (!globalThis.Highlight) return;
    const marks = new Highlight();
    if (words.length) {
      for (const body of visible()) {
        const terms = body.classList.contains("opened") ? ".term" : ".open .term";
        for (const term of body.querySelectorAll(terms)) mark(term, words, marks);
        if (marks.size > MOST_MARKS) break;
      }
    }
    CSS.highlights.set("found", marks);
  }

  function mark(term, words, marks) {
    const text = term.lastChild;
    if (text?.nodeType !== Node.TEXT_NODE) return;
    const lower = text.data.toLowerCase();
    for (const word of words) {
      for (let at = lower.indexOf(word); at >= 0; at = lower.indexOf(word, at + word.length)) {
        const range = new Range();
        range.setStart(text, at);
        range.setEnd(text, at + word.length);
        marks.add(range);
      }
    }
  }

  function reset() {
    search.value = "";
    standings.clear();
    for (const button of document.querySelectorAll(".filters button"))
      button.setAttribute("aria-pressed", "false");
    apply();
  }

  search.addEventListener("input", apply);
  search.addEventListener("keydown", (event) => {
    if (event.key === "Escape") reset();
    if (event.key === "ArrowDown") {
      event.preventDefault();
      visible()[0]?.querySelector("button.open").focus();
    }
  });
  document.getElementById("show-all").addEventListener("click", () => {
    reset();
    search.focus();
  });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.closest("input, select, textarea")) return;
    event.preventDefault();
    search.focus();
    search.scrollIntoView({ block: "nearest" });
  });

  for (const button of document.querySelectorAll(".filters button")) {
    button.addEventListener("click", () => {
      const word = button.dataset.standing;
      if (!standings.delete(word)) standings.add(word);
      button.setAttribute("aria-pressed", String(standings.has(word)));
      apply();
    });
  }

  // --- sorting ---

  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => {
    head.querySelector("button").addEventListener("click", (event) => {
      // A column is sorted one way, then the other, then not: back to the order of the report.
      const [first, second] =
        "down" in event.currentTarget.dataset
          ? ["descending", "ascending"]
          : ["ascending", "descending"];
      const next =
        { [first]: second, [second]: null }[head.ariaSort] ?? (head.ariaSort ? null : first);
      for (const other of heads) other.removeAttribute("aria-sort");
      if (next) head.ariaSort = next;
      sort(column, next);
    });
  });

  function sort(column, direction) {
    const sign = direction === "descending" ? -1 : 1;
    const ordered = direction
      ? rows.toSorted((a, b) => compared(a.values[column], b.values[column], sign))
      : rows;
    table.append(...ordered.map((row) => row.body));
  }

  /** Compare numbers as numbers, text as text; missing values are always last. */
  function compared(a, b, sign) {
    if (a === "" || b === "") return (a === "") - (b === "");
    const difference = a - b;
    return (
      sign * (Number.isNaN(difference) ? a.localeCompare(b, "en", { numeric: true }) : difference)
    );
  }

  // --- links ---

  function follow() {
    const name = decodeURIComponent(location.hash.slice(1));
    const row = rows.find(({ body }) => body.id === name);
    if (!row) return;
    if (row.body.hidden) reset();
    open(row, true);
    row.body.scrollIntoView();
    row.button.focus({ preventScroll: true });
  }
  addEventListener("hashchange", follow);
  found.textContent = counted(rows.length);
  follow();
})();
