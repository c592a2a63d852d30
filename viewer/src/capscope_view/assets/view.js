// Shared by the pages of `capscope view`: ask the server, again and again while the page is seen.
"use strict";
capscope.server = (() => {
  const PAUSE = 1500;
  const LONGEST = 30_000;

  /** Ask for JSON; an answer that is an error is thrown with its message. */
  async function ask(address) {
    const answer = await fetch(address, { signal: AbortSignal.timeout(LONGEST) });
    const type = answer.headers.get("content-type") ?? "";
    const said = type.includes("json") ? await answer.json() : { error: await answer.text() };
    if (!answer.ok) throw Object.assign(new Error(said.error), { answered: true });
    return said;
  }

  /** Call `use` with the answer every other second while the page is visible. */
  function follow(address, use, lost) {
    let timer;
    async function round() {
      clearTimeout(timer);
      if (document.hidden) return;
      try {
        await use(await ask(address));
      } catch (error) {
        lost(error);
      }
      timer = setTimeout(round, PAUSE);
    }
    document.addEventListener("visibilitychange", round);
    round();
  }

  const LOST = "The server has ended; this is the last state it told. Start it again with capscope view.";
  const problem = (error) => (error.answered ? error.message : LOST);

  return { ask, follow, problem };
})();
