// Links are copied.
//
// A press on a button for a link asks the server for it; as soon as it stands on the page it is copied. Where a browser
// does not let a page do so (no https, no permission), it stands there to be copied by hand, and nothing says otherwise.
(() => {
  if (window.linksAreCopied) return; // the page is drawn again and again
  window.linksAreCopied = true;

  const ASKED_MS = 10_000; // a large problem takes the server a moment
  const LOOKED_AT_MS = 100;
  let until = 0;
  let before = null;

  const shown = () => document.querySelector(".st-key-link_to_copy code")?.textContent.trim() ?? null;

  const says = (text) => {
    const place = document.querySelector(".st-key-link_to_copy .copied");
    if (place !== null) place.textContent = text;
  };

  const look = async () => {
    if (performance.now() > until) return;
    const link = shown();
    // The same link may be there from the last press; the server draws it anew within that time.
    if (link && (link !== before || performance.now() > until - ASKED_MS + 1_000)) {
      until = 0;
      try {
        await navigator.clipboard.writeText(link);
        says("Copied.");
      } catch {
        says("");
      }
      return;
    }
    setTimeout(look, LOOKED_AT_MS);
  };

  addEventListener(
    "click",
    (event) => {
      if (!(event.target instanceof Element) || event.target.closest(".st-key-what_if_link button") === null) return;
      before = shown();
      says("");
      until = performance.now() + ASKED_MS;
      look();
    },
    true,
  );
})();
