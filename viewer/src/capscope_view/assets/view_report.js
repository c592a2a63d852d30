// The report in a frame. A newer one is loaded out of sight, brought to the state of the one that is
// shown (what is open, typed, chosen, sorted, and the place on the page), and takes its place.
"use strict";
(() => {
  const { element, counted, grouped, server } = capscope;
  const frames = document.getElementById("frames");
  const message = document.getElementById("message");
  const waiting = document.getElementById("waiting");
  const hold = document.getElementById("hold");
  const alone = document.getElementById("alone");
  const TOGGLES = "[aria-expanded], [aria-pressed], details, th[aria-sort], th button.sort";
  const FIELDS = "input, select";
  let shown = null;
  let version = 0;
  let loading = false;

  hold.addEventListener("click", () => {
    const held = hold.getAttribute("aria-pressed") !== "true";
    hold.setAttribute("aria-pressed", String(held));
  });
  if (capscope.data.single) document.getElementById("all-runs").hidden = true;

  // --- what a reader has done with a report ---

  /** Name elements so that the same ones are found in the next report. */
  function named(page, selector) {
    const seen = new Map();
    return [...page.querySelectorAll(selector)].map((found) => {
      const around = found.parentElement?.closest("[id]")?.id ?? "";
      const text = (found.ariaLabel ?? found.querySelector("summary")?.textContent ?? found.textContent);
      const key = found.id || `${around}|${found.tagName}|${text.trim().slice(0, 80)}`;
      const count = (seen.get(key) ?? 0) + 1;
      seen.set(key, count);
      return [`${key}|${count}`, found];
    });
  }

  function toggled(found) {
    if (found.tagName === "DETAILS") return String(found.open);
    if (found.matches("th button.sort")) return found.closest("th").getAttribute("aria-sort") ?? "";
    return found.getAttribute("aria-expanded") ?? found.getAttribute("aria-pressed");
  }

  const valueOf = (field) => (field.type === "checkbox" ? String(field.checked) : field.value);

  function remembered(page) {
    const view = page.defaultView;
    const top = 80;
    const marks = [...page.querySelectorAll("main [id]")].filter((one) => one.getClientRects().length);
    const above = marks.filter((one) => one.getBoundingClientRect().top <= top);
    const mark = above.at(-1) ?? marks[0];
    const active = page.activeElement;
    return {
      toggles: new Map(named(page, TOGGLES).map(([key, one]) => [key, toggled(one)])),
      fields: new Map(named(page, FIELDS).map(([key, one]) => [key, valueOf(one)])),
      scroll: view.scrollY,
      mark: mark && [mark.id, mark.getBoundingClientRect().top],
      focus: named(page, "button, a, summary, input, select").find(([, one]) => one === active)?.[0],
      caret: active?.type === "search" ? [active.selectionStart, active.selectionEnd] : null,
    };
  }

  function restore(page, before) {
    for (const [key, field] of named(page, FIELDS)) {
      const value = before.fields.get(key);
      if (value === undefined || value === valueOf(field)) continue;
      if (field.type === "checkbox") field.click();
      else {
        field.value = value;
        field.dispatchEvent(new Event(field.tagName === "SELECT" ? "change" : "input", { bubbles: true }));
      }
    }
    // What is opened may have further things to open in it; a sort has three states.
    for (let pass = 0; pass < 3; pass += 1) {
      for (const [key, one] of named(page, TOGGLES)) {
        const wanted = before.toggles.get(key);
        if (wanted === undefined || wanted === null || wanted === toggled(one)) continue;
        if (one.tagName === "DETAILS") one.open = wanted === "true";
        else if (one.tagName !== "TH") one.click();
      }
    }
    const focus = named(page, "button, a, summary, input, select").find(([key]) => key === before.focus);
    focus?.[1].focus({ preventScroll: true });
    if (before.caret) focus?.[1].setSelectionRange?.(...before.caret);
    scroll(page, before);
    // Parts out of sight are laid out late; then the place may have moved.
    page.defaultView.requestAnimationFrame(() => scroll(page, before));
  }

  function scroll(page, before) {
    const view = page.defaultView;
    const mark = before.mark && page.getElementById(before.mark[0]);
    if (before.scroll && mark?.getClientRects().length) {
      view.scrollBy({ top: mark.getBoundingClientRect().top - before.mark[1], behavior: "instant" });
    } else {
      view.scrollTo({ top: before.scroll, behavior: "instant" });
    }
  }

  const selecting = () => {
    const selection = shown?.contentWindow.getSelection();
    return Boolean(selection && !selection.isCollapsed && selection.toString());
  };

  // --- exchanging reports ---

  /** The button of the report chooses the colors of this page too. */
  function followTheme(root) {
    const follow = () => {
      if (root.dataset.theme) document.documentElement.dataset.theme = root.dataset.theme;
    };
    new MutationObserver(follow).observe(root, { attributeFilter: ["data-theme"] });
    follow();
  }

  function load(report) {
    loading = true;
    const wanted = report.version;
    const next = element("iframe", {
      title: "Report",
      src: `report.html?version=${wanted}${shown ? "" : location.hash}`,
      "data-executions": report.executions,
    });
    next.addEventListener("load", () => {
      loading = false;
      if (next.contentDocument?.contentType !== "text/html" || !next.contentDocument.querySelector("main")) {
        next.remove();
        return;
      }
      if (shown) restore(next.contentDocument, remembered(shown.contentDocument));
      followTheme(next.contentDocument.documentElement);
      const focused = document.activeElement === shown;
      next.classList.add("shown");
      shown?.remove();
      if (focused) next.contentWindow.focus();
      shown = next;
      version = wanted;
      waiting.hidden = true;
      alone.hidden = false;
    }, { once: true });
    frames.append(next);
  }

  function tell(run) {
    const report = run.report;
    const parts = [run.activity + (run.note ? `: ${run.note}` : "")];
    if (run.activity !== "unreadable") {
      const queries = `${grouped(run.queries)} ${run.queries === 1 ? "query" : "queries"}`;
      parts.push(`${counted(run.executions, "execution")} in ${queries}`);
    }
    if (report.version && report.executions !== run.executions) {
      parts.push(`report after ${counted(report.executions, "execution")}${report.rendering ? ", a newer one is being made" : ""}`);
    }
    if (report.error && report.error !== run.note) parts.push(report.error);
    message.textContent = parts.join(" · ");
    waiting.textContent = report.error || "The report is being made …";
  }

  server.follow(
    "status.json",
    (run) => {
      tell(run);
      const held = hold.getAttribute("aria-pressed") === "true" || selecting();
      const newer = run.report.version && run.report.version !== version;
      if (newer && !loading && !(held && shown)) load(run.report);
    },
    (error) => {
      message.textContent = server.problem(error);
    },
  );
})();
