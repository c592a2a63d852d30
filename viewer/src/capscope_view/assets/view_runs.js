// The list of runs; a row is replaced only if something about its run changed.
"use strict";
(() => {
  const { element, grouped, server } = capscope;
  const table = document.getElementById("runs");
  const body = table.tBodies[0];
  const message = document.getElementById("message");
  const rows = new Map();
  const times = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });

  function row(run) {
    const readable = run.activity !== "unreadable";
    const number = (value) => element("td", { class: "number" }, readable ? grouped(value) : "");
    const address = readable ? `run/${run.id}/` : undefined;
    const name = element(readable ? "a" : "span", { class: "term", href: address }, run.name);
    return element(
      "tr",
      {},
      element("th", { scope: "row" }, name),
      element(
        "td",
        {},
        element("span", { class: `standing ${run.activity}` }, run.activity),
        run.note ? element("span", { class: "note" }, run.note) : null,
      ),
      element("td", {}, run.problem),
      element("td", {}, run.strategy),
      element("td", { class: "number" }, run.seed === null ? "" : String(run.seed)),
      number(run.queries),
      number(run.executions),
      element("td", {}, run.written ? times.format(new Date(1000 * run.written)) : ""),
    );
  }

  function show(listed) {
    if (listed.single && listed.runs.length === 1) location.replace(`run/${listed.runs[0].id}/`);
    const shown = listed.runs.map((run) => {
      const text = JSON.stringify(run);
      const known = rows.get(run.id);
      if (known?.text === text) return known.row;
      const made = row(run);
      rows.set(run.id, { text, row: made });
      return made;
    });
    const focused = document.activeElement?.getAttribute("href");
    // Elements that stay where they are keep the focus and the selection.
    if (shown.length !== body.rows.length || shown.some((one, i) => one !== body.rows[i])) {
      body.replaceChildren(...shown);
      if (focused) body.querySelector(`a[href="${CSS.escape(focused)}"]`)?.focus();
    }
    table.hidden = !shown.length;
    const none = "No run here yet. capscope assess makes one.";
    const part = listed.complete ? "" : "The folder is too large: only a part of it was searched.";
    message.textContent = shown.length ? part : none;
  }

  show(capscope.data);
  server.follow("runs.json", show, (error) => {
    message.textContent = server.problem(error);
  });
})();
