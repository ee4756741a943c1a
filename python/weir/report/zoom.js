// Drawings over time: dragging over a part enlarges it in all drawings of the same run and clock,
// dragging with Shift moves it, a double click shows all again. Buttons do the same from a keyboard.
"use strict";
(() => {
  const STEP = 2, LEAST_PIXELS = 5, MOST_ZOOM = 1e5;
  const groups = new Map();
  const numbers = (node, ...names) => names.map((name) => Number(node.getAttribute(name)));
  const roundStep = (raw) => {
    const power = 10 ** Math.floor(Math.log10(raw));
    return [1, 2, 5, 10].find((factor) => factor * power >= raw * (1 - 1e-9)) * power;
  };

  const drawingOf = (axis) => {
    const svg = axis.ownerSVGElement;
    const plot = svg.querySelector("svg.plot");
    const [x, y, width, height] = numbers(plot, "x", "y", "width", "height");
    const marks = [...axis.querySelectorAll(".mark")];
    const names = [...svg.querySelectorAll("text.at")];
    const { from, to, size, marks: many } = axis.dataset;
    const key = `${axis.closest("[data-run]")?.dataset.run ?? ""} ${axis.dataset.clock}`;
    return { svg, plot, x, y, width, height, axis, marks, names, key,
      from: Number(from), to: Number(to), size: Number(size), many: Number(many) };
  };

  const relabel = (one, low, high) => {
    const step = roundStep((high - low) / one.size / one.many);
    const model = one.marks[0];
    for (const mark of one.axis.querySelectorAll(".mark")) mark.remove();
    if (low === one.from && high === one.to) return one.axis.prepend(...one.marks);
    for (let i = Math.ceil(low / one.size / step); i * step <= high / one.size; ++i) {
      const mark = model.cloneNode();
      mark.setAttribute("x", one.x + ((i * step * one.size - low) / (high - low)) * one.width);
      mark.textContent = String(Number((i * step).toPrecision(10)));
      one.axis.prepend(mark);
    }
  };

  const draw = (one, span) => {
    const [low, high] = span ?? [one.from, one.to];
    const scale = one.width / (one.to - one.from);
    const left = one.x + (low - one.from) * scale, shown = (high - low) * scale;
    one.shown = [low, high];
    one.plot.setAttribute("viewBox", `${left} ${one.y} ${shown} ${one.height}`);
    for (const node of one.names) {
      const begin = Math.max(low, Number(node.dataset.from)), end = Math.min(high, Number(node.dataset.to));
      node.setAttribute("x", one.x + (((begin + end) / 2 - low) / (high - low)) * one.width);
      node.setAttribute("visibility", begin < end ? "visible" : "hidden");
    }
    relabel(one, low, high);
  };

  const show = (key, span) => {
    const group = groups.get(key);
    const low = Math.min(...group.map((one) => one.from)), high = Math.max(...group.map((one) => one.to));
    if (span) {
      const length = Math.max(Math.min(span[1] - span[0], high - low), (high - low) / MOST_ZOOM);
      const start = Math.min(Math.max(span[0], low), high - length);
      span = length >= (high - low) * (1 - 1e-9) ? null : [start, start + length];
    }
    for (const one of group) draw(one, span);
  };

  const scaled = (one, factor, moved) => {
    const [low, high] = one.shown, length = high - low;
    const middle = (low + high) / 2 + moved * length;
    show(one.key, [middle - (factor * length) / 2, middle + (factor * length) / 2]);
  };

  const placeOf = (one, event) => {
    const matrix = one.svg.getScreenCTM();
    const share = ((event.clientX - matrix.e) / matrix.a - one.x) / one.width;
    const down = ((event.clientY - matrix.f) / matrix.d - one.y) / one.height;
    return { share, down, inside: share >= 0 && share <= 1 && down >= 0 && down <= 1 };
  };
  const timeAt = (one, share) => one.shown[0] + share * (one.shown[1] - one.shown[0]);

  const listen = (one) => {
    one.svg.addEventListener("dblclick", () => show(one.key, null));
    one.svg.addEventListener("pointerdown", (event) => {
      const began = placeOf(one, event);
      if (event.button !== 0 || event.pointerType === "touch" || !began.inside) return;
      event.preventDefault();
      const before = one.shown, startX = event.clientX, moves = event.shiftKey;
      const box = document.createElementNS(one.svg.namespaceURI, "rect");
      box.setAttribute("class", "selection");
      box.setAttribute("y", one.y);
      box.setAttribute("height", one.height);
      if (!moves) one.svg.append(box);
      const limited = (now) => Math.min(1, Math.max(0, placeOf(one, now).share));
      const move = (now) => {
        if (moves) {
          const back = (began.share - placeOf(one, now).share) * (before[1] - before[0]);
          show(one.key, [before[0] + back, before[1] + back]);
          return;
        }
        const [low, high] = [began.share, limited(now)].sort((a, b) => a - b);
        box.setAttribute("x", one.x + low * one.width);
        box.setAttribute("width", (high - low) * one.width);
      };
      const up = (now) => {
        removeEventListener("pointermove", move);
        removeEventListener("pointerup", up);
        removeEventListener("pointercancel", up);
        box.remove();
        if (moves || now.type !== "pointerup" || Math.abs(now.clientX - startX) < LEAST_PIXELS) return;
        show(one.key, [began.share, limited(now)].map((share) => timeAt(one, share)).sort((a, b) => a - b));
      };
      addEventListener("pointermove", move);
      addEventListener("pointerup", up);
      addEventListener("pointercancel", up);
    });
  };

  const addButtons = (figure, one) => {
    const bar = document.createElement("p");
    bar.className = "zoom";
    bar.title = "Drag over a drawing to enlarge a part of the time, with Shift to move it; a double click shows all";
    for (const [sign, name, act] of [
      ["+", "Enlarge the middle", () => scaled(one, 1 / STEP, 0)],
      ["\u2212", "Show more time", () => scaled(one, STEP, 0)],
      ["\u25c2", "Earlier", () => scaled(one, 1, -0.5)],
      ["\u25b8", "Later", () => scaled(one, 1, 0.5)],
      ["all", "Show all of the time", () => show(one.key, null)],
    ]) {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = sign;
      button.setAttribute("aria-label", name);
      button.addEventListener("click", act);
      bar.append(button);
    }
    figure.querySelector(".drawing").before(bar);
  };

  // What a cell of a heat map says is in the values below the figure, which are read when needed.
  const valuesOf = (one) => {
    const figure = one.svg.closest("figure");
    const place = [...figure.querySelectorAll("svg.plot")].indexOf(one.plot);
    const text = figure.querySelectorAll("pre.csv")[place]?.textContent ?? "";
    const [head, ...rows] = text.trimEnd().split("\n").map((row) => row.split(","));
    return { rows, edges: head.slice(2).map(Number), unit: (head[1] ?? "").trim() };
  };
  const tellCells = (one) => {
    let values = null;
    one.svg.addEventListener("pointermove", (event) => {
      const { share, down, inside } = placeOf(one, event);
      const part = (timeAt(one, share) - one.from) / (one.to - one.from);
      if (!inside || part < 0 || part >= 1) return one.svg.removeAttribute("data-tip");
      values ??= valuesOf(one);
      const row = values.rows[Math.min(values.rows.length - 1, Math.floor(down * values.rows.length))];
      const column = Math.floor(part * values.edges.length);
      const rate = row[column + 2];
      one.svg.setAttribute("data-tip",
        `${row[0]} from ${values.edges[column]} s: ${rate ? `${rate} ${values.unit}` : "nothing moved"}`);
    }, { capture: true });
  };

  for (const figure of document.querySelectorAll("figure")) {
    const drawings = [...figure.querySelectorAll(".time-axis")].map(drawingOf);
    for (const one of drawings) {
      groups.set(one.key, [...(groups.get(one.key) ?? []), one]);
      one.shown = [one.from, one.to];
      listen(one);
      if (one.plot.dataset.heatRows) tellCells(one);
    }
    if (drawings.length) addButtons(figure, drawings[0]);
  }
})();
