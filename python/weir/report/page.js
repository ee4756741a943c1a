// The report is whole without this script. It opens what a link or a printer needs, and shows the
// text of a mark beside the pointer.
"use strict";
(() => {
  const openTo = (target) => {
    for (let box = target; box; box = box.parentElement) {
      if (box.tagName === "DETAILS") box.open = true;
    }
  };
  const followAnchor = () => {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!target) return;
    openTo(target);
    target.scrollIntoView();
  };
  addEventListener("hashchange", followAnchor);
  followAnchor();
  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[href^='#']");
    if (link && link.getAttribute("href") === location.hash) followAnchor();
  });

  let closed = [];
  addEventListener("beforeprint", () => {
    closed = [...document.querySelectorAll("details.run:not([open])")];
    for (const run of closed) run.open = true;
  });
  addEventListener("afterprint", () => {
    for (const run of closed) run.open = false;
    closed = [];
  });

  const tip = document.createElement("div");
  tip.className = "tip";
  tip.setAttribute("role", "tooltip");
  tip.hidden = true;
  document.body.append(tip);
  document.addEventListener("pointermove", (event) => {
    const mark = event.target.closest && event.target.closest("[data-tip]");
    tip.hidden = !mark;
    if (!mark) return;
    tip.textContent = mark.getAttribute("data-tip");
    const right = event.clientX + 14 + tip.offsetWidth > innerWidth;
    tip.style.left = `${Math.max(4, right ? event.clientX - 14 - tip.offsetWidth : event.clientX + 14)}px`;
    tip.style.top = `${Math.max(4, event.clientY - tip.offsetHeight - 10)}px`;
  });
})();
