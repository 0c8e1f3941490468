// Names fill their bars.
//
// The server cuts a service's name to what its bar holds on a narrow page (charts/fleet.py), and does not know how wide
// the page is. Where the bar holds all of it, the name in full takes the place of the cut one; it stands in the picture's
// data (charts/gpu_bars.py). Whenever Plotly draws anew, as after a change of width, it begins with the cut one again.
(() => {
  if (window.namesFill) return; // the page is drawn again and again
  window.namesFill = true;

  const BESIDE_PX = 3; // as much as Plotly leaves
  const CUT = "…";

  // All texts of a picture are escaped, as Plotly takes them for HTML.
  const plain = (escaped) => new DOMParser().parseFromString(escaped, "text/html").documentElement.textContent;

  const fill = (text, bar, escaped) => {
    const name = escaped && plain(escaped);
    const line = text.querySelector("tspan") ?? text;
    const cut = line.textContent;
    if (!name || !cut.endsWith(CUT) || name.endsWith(CUT)) return;
    line.textContent = name;
    if (text.getBoundingClientRect().width + 2 * BESIDE_PX > bar.getBoundingClientRect().width) line.textContent = cut;
  };

  const fillAll = () => {
    for (const picture of document.querySelectorAll(".js-plotly-plot")) {
      const names = picture.data?.[0]?.customdata;
      if (picture.data?.[0]?.meta !== "names" || !names) continue;
      picture.querySelector(".trace.bars")?.querySelectorAll(".point").forEach((point, index) => {
        const [text, bar] = [point.querySelector("text"), point.querySelector("path")];
        if (text !== null && bar !== null) fill(text, bar, names[index]);
      });
    }
    seen.takeRecords(); // of what was done here
  };

  let isAsked = false;
  const ask = () => {
    if (isAsked) return;
    isAsked = true;
    requestAnimationFrame(() => {
      isAsked = false;
      fillAll();
    });
  };

  const isOfAPicture = ({ target }) => target instanceof Element && target.closest(".js-plotly-plot") !== null;
  const seen = new MutationObserver((changes) => changes.some(isOfAPicture) && ask());
  seen.observe(document.body, { childList: true, subtree: true });
})();
