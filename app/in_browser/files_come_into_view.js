// Files come into view.
//
// A press that leads to a plan's files may draw another screen, which begins at its top: on a phone the files are three
// screens below. So are those for what people run, below the field where that is chosen. They are scrolled to, and again
// while pictures above them are still being drawn, until the user moves.
// The focus goes with the view: the button that had it is gone or above, where the next key would begin.
(() => {
  if (window.filesComeIntoView) return; // the page is drawn again and again
  window.filesComeIntoView = true;

  const LED_MS = 15_000; // a busy server draws the screen within
  const DRAWN_MS = 3_000; // and what is above the files is then drawn
  const LOOKED_AT_MS = 100;
  let until = 0;
  let atMost = 0;
  let seenAt = 0;

  const isBeingDrawn = () => document.querySelector('[data-test-script-state="running"]') !== null;

  const look = () => {
    if (performance.now() > until) return;
    const files = document.querySelector(".st-key-files");
    if (files !== null) {
      // What is chosen may come later than what is above, on a busy server.
      if (seenAt === 0 || isBeingDrawn()) until = Math.min((seenAt = performance.now()) + DRAWN_MS, atMost);
      files.scrollIntoView({ block: "start" });
      const focused = document.activeElement;
      if (focused === document.body || focused?.closest(".st-key-to_files")) {
        files.querySelector("summary")?.focus({ preventScroll: true });
      }
    }
    setTimeout(look, LOOKED_AT_MS);
  };

  // What people run is chosen from a list that lies over the page; its field has the focus meanwhile.
  const leads = (pressed) =>
    pressed.closest(".st-key-to_files") !== null ||
    (pressed.closest('[role="option"]') !== null && document.activeElement?.closest(".st-key-take_stack") != null);

  addEventListener(
    "click",
    (event) => {
      if (!(event.target instanceof Element) || !leads(event.target)) return;
      until = atMost = performance.now() + LED_MS;
      seenAt = 0;
      look();
    },
    true,
  );
  for (const kind of ["wheel", "touchmove", "pointerdown", "keydown"]) addEventListener(kind, () => (until = 0), true);
})();
