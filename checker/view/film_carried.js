  // ---- linear attention: the state on chip, before and after the step, and what was read out of it ----------------

  const drawStates = (at, shown) => {
    const v = data.states, e = events[at], state = v.at[at], [rows, cols] = v.whole;
    const [before = -1, after = -1, old = -1, fresh = -1, place = -1, deed = -1, words = -1] = state;
    const group = root.querySelector(".stage .carried .in"), out = root.querySelector(".stage .out");
    const said = words >= 0 ? v.words[words] : "";
    let inside = "";
    if (place >= 0) {
      const p = v.places[place];
      [[v.boxes[0], after], [v.boxes[2], before]].forEach(([q, heat]) => { if (heat >= 0) inside += heatMap(part(q, cols, p[0], p[1], p[2], p[3]), v.heats[heat], true, fit(cols, p[1], p[2], p[3], p[0])); });
      [[v.boxes[1], fresh], [v.boxes[3], old]].forEach(([q, levels]) => { if (levels >= 0) inside += bars(part(q, 1, p[0], 0, p[2], 1), v.sums[levels], fit(1, 0, p[2], 1, p[0])[0]); });
      if (deed > 0) {
        const [down, across] = fit(cols, p[1], p[2], p[3], p[0]), q = part(v.boxes[0], cols, p[0], p[1], p[2], p[3]);
        inside += box(q.x, q.y, q.w * across, q.h * down, "pulse " + ["", "starts", "adds", "reads"][deed]);
      }
    }
    group.innerHTML = inside;
    root.querySelector(".stage .carried .doing").textContent = said;
    if (e.kind === DOT && said) find("what").textContent = said;
    if (!v.square) return;
    const [x0, y0, u] = v.square, seen = new Set(shown), slice = sliceRead(at);
    const mine = v.reads.filter((r) => seen.has(r[0]) && r[1] === slice);
    let d = "", now_ = "";
    for (const [k, , r0, r1, c0, c1] of mine) {
      const q = block(bounds(x0 + c0 * u, y0 + r0 * u, (c1 - c0) * u, (r1 - r0) * u));
      d += q;
      if (k === at) now_ += q;
    }
    out.innerHTML = path("told", d) + path("telling", now_);

    function part([x, y, w, h], all, r0, c0, tall, wide) {
      return { x: x + w * c0 / all, y: y + h * r0 / rows, w: w * wide / all, h: h * tall / rows };
    }

    function fit(all, c0, tall, wide, r0) {
      return [clamp((rows - r0) / tall, 0, 1), clamp((all - c0) / wide, 0, 1)];
    }
  };

  // the slice that the program of a moment reads for
  function sliceRead(at) {
    const mine = data.states.reads.filter((r) => events[r[0]].program === events[at].program);
    return (mine.find((r) => r[0] >= at) || mine[mine.length - 1] || [0, 0])[1];
  }
