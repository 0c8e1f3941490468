// Marks of wrong rows go with the rows as a table is scrolled.
//
// A table is drawn on a canvas, and page.css lays the marks over it (screens/workloads/row_marks.py): how far the table
// is scrolled stands as --scrolled on the container of both.
(() => {
  if (window.marksStay) return; // the page is drawn again and again
  window.marksStay = true;

  const follow = (event) => {
    if (!(event.target instanceof Element) || !event.target.matches(".dvn-scroller")) return;
    const marked = event.target.closest("[class*=st-key-marked_]");
    marked?.style.setProperty("--scrolled", `${-event.target.scrollTop}px`);
  };

  addEventListener("scroll", follow, true); // it does not bubble
})();
