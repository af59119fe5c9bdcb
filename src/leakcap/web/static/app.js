// The explorer's own script: sliders, pictures, theme, downloads. No number is computed here.
"use strict";
(() => {
  const COLOURS = {
    light: { "@ink": "#1d2733", "@soft": "#566270", "@grid": "#e4e9ed", "@pale": "#aab6c0",
             "@accent": "#1f6f8b", "@warm": "#c2502f", "@paper": "#ffffff" },
    dark: { "@ink": "#e6edf2", "@soft": "#a3b1bd", "@grid": "#2c3842", "@pale": "#5d6d7a",
            "@accent": "#5fbcd9", "@warm": "#f2906f", "@paper": "#182128" },
  };
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const theme = () => document.documentElement.dataset.theme || (dark.matches ? "dark" : "light");

  // Pictures ---------------------------------------------------------------------------------------------
  const views = new Map();
  const painted = (value, colours) => {
    if (Array.isArray(value)) return value.map((part) => painted(part, colours));
    if (value && typeof value === "object") {
      return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, painted(part, colours)]));
    }
    return typeof value === "string" && Object.hasOwn(colours, value) ? colours[value] : value;
  };
  const fitted = (spec, width) => {
    if (spec.facet) {
      const across = Math.min(220, Math.floor((width - 2 * spec.spacing) / 3));
      const spacing = across < 110 ? 10 : spec.spacing;
      const side = Math.min(220, Math.floor((width - 2 * spacing) / 3));
      spec.spacing = spacing;
      spec.spec.width = side;
      spec.spec.height = Math.round(side * 1.15);
      spec.spec.mark.size = Math.round((side / 130) ** 2 * 90);
    } else if (spec.concat) {
      const columns = width < 560 ? 1 : 2;
      spec.columns = columns;
      const side = Math.floor((width - (columns - 1) * spec.spacing) / columns) - 62;
      for (const panel of spec.concat) panel.width = Math.max(160, side);
    } else {
      spec.width = width;
      if (width < 480) {
        shortened(spec, 180);
        spec.config.legend.columns = 1;
      }
    }
    return spec;
  };
  const shortened = (value, limit) => {
    if (!value || typeof value !== "object") return;
    if (value.labelLimit > limit && value.grid) value.labelLimit = limit;
    for (const part of Object.values(value)) shortened(part, limit);
  };
  const draw = (plot) => {
    const width = Math.floor(plot.clientWidth);
    if (!width) return;
    views.get(plot)?.view.finalize();
    const spec = fitted(painted(JSON.parse(plot.dataset.spec), COLOURS[theme()]), width);
    const compiled = vegaLite.compile(spec).spec;
    const view = new vega.View(vega.parse(compiled, null, { ast: true }), {
      expr: vega.expressionInterpreter, renderer: "svg", container: plot, hover: true,
    });
    view.tooltip(tooltip).run();
    views.set(plot, { view, spec, width });
  };
  const drawAll = (force) => {
    for (const [plot, drawn] of views) {
      if (!plot.isConnected) { drawn.view.finalize(); views.delete(plot); }
    }
    for (const plot of document.querySelectorAll(".plot[data-spec]")) {
      if (force || !views.has(plot) || views.get(plot).width !== Math.floor(plot.clientWidth)) draw(plot);
    }
  };
  const tip = document.createElement("div");
  tip.className = "tip";
  tip.hidden = true;
  const tooltip = (_, event, __, value) => {
    tip.hidden = value === null || value === undefined || value === "";
    if (tip.hidden) return;
    const lines = typeof value === "object" ? Object.entries(value).map(([key, v]) => `${key}: ${v}`) : [value];
    tip.textContent = lines.join("\n");
    tip.style.left = `${Math.min(event.pageX + 14, scrollX + innerWidth - 260)}px`;
    tip.style.top = `${event.pageY + 14}px`;
  };

  // Downloads --------------------------------------------------------------------------------------------
  const save = (url, name) => {
    const link = document.createElement("a");
    link.href = url;
    link.download = name;
    link.click();
  };
  const saveText = (text, kind, name) => {
    const url = URL.createObjectURL(new Blob([text], { type: kind }));
    save(url, name);
    setTimeout(() => URL.revokeObjectURL(url), 10000);
  };
  const download = async (button) => {
    const plot = button.closest("figure").querySelector(".plot");
    const { view, spec } = views.get(plot);
    const name = `leakcap-${plot.dataset.key}.${button.dataset.download}`;
    if (button.dataset.download === "png") save(await view.toImageURL("png", 2), name);
    if (button.dataset.download === "svg") saveText(await view.toSVG(), "image/svg+xml", name);
    if (button.dataset.download === "json") saveText(JSON.stringify(spec, null, 1), "application/json", name);
  };

  // Sliders ----------------------------------------------------------------------------------------------
  const bounds = (range) => [Number(range.dataset.least), Number(range.dataset.most)];
  const toValue = (range) => {
    const [least, most] = bounds(range);
    const share = Number(range.value) / Number(range.max);
    const value = range.dataset.scale === "log" ? least * (most / least) ** share : least + share * (most - least);
    if (range.dataset.step === "1") return String(Math.round(value));
    return String(Number(value.toPrecision(range.dataset.scale === "log" ? 2 : 3)));
  };
  const place = (range) => {
    const [least, most] = bounds(range);
    const field = document.getElementById(range.dataset.for);
    const value = Math.min(Math.max(Number(field.value) || least, least), most);
    const share = range.dataset.scale === "log"
      ? Math.log(value / least) / Math.log(most / least) : (value - least) / (most - least);
    range.value = String(Math.round(share * Number(range.max)));
    range.setAttribute("aria-valuetext", `${field.value} ${range.dataset.unit}`.trim());
    range.style.setProperty("--share", `${Math.round(share * 100)}%`);
  };
  const placeAll = () => document.querySelectorAll("input[type=range][data-for]").forEach(place);

  document.addEventListener("input", (event) => {
    const field = event.target;
    if (field.matches("input[type=range][data-for]")) {
      const number = document.getElementById(field.dataset.for);
      const before = number.value;
      number.value = toValue(field);
      // A step too small to change the number as it is shown moves its last digit by one all the same.
      const grew = Number(field.value) > Number(field.dataset.last || field.value);
      const moved = Number(field.value) !== Number(field.dataset.last || field.value);
      if (number.value === before && moved && field.dataset.keyed) {
        const [least, most] = bounds(field);
        const digits = field.dataset.scale === "log" ? 2 : 3;
        const power = Math.floor(Math.log10(Math.abs(Number(before)) || 1));
        const unit = field.dataset.step === "1" ? 1 : 10 ** (power - digits + 1);
        const next = Math.min(most, Math.max(least, Number(before) + (grew ? unit : -unit)));
        number.value = String(field.dataset.step === "1" ? next : Number(next.toPrecision(digits + 1)));
        place(field);
      }
      field.dataset.last = field.value;
      delete field.dataset.keyed;
      field.setAttribute("aria-valuetext", `${number.value} ${field.dataset.unit}`.trim());
      const [least, most] = [0, Number(field.max)];
      field.style.setProperty("--share", `${Math.round(((field.value - least) / (most - least)) * 100)}%`);
    } else if (field.matches("input[type=number][id]")) {
      const range = document.querySelector(`input[type=range][data-for="${CSS.escape(field.id)}"]`);
      if (range) place(range);
    }
  });
  // Back goes to where a slider stood before it was moved: what a drag passes on its way is replaced, not kept.
  let resting = 0;
  let moving = false;
  document.addEventListener("input", (event) => {
    if (!event.target.form?.matches("form[data-live]")) return;
    clearTimeout(resting);
    if (!moving) {
      moving = true;
      history.replaceState({ htmx: true }, "", location.href);
      history.pushState({ htmx: true }, "", location.href);
    }
  });
  document.addEventListener("change", (event) => {
    if (!event.target.form?.matches("form[data-live]")) return;
    clearTimeout(resting);
    resting = setTimeout(() => { moving = false; }, 600);
  });
  document.addEventListener("keydown", (event) => {
    if (event.target.matches?.("input[type=range][data-for]")) {
      event.target.dataset.keyed = event.key.startsWith("Arrow") ? "1" : "";
      event.target.dataset.last = event.target.value;
    }
  });

  // The form: only the fields of the statistic that is chosen -------------------------------------------------
  const fitFields = () => {
    const chosen = document.getElementById("statistic");
    if (!chosen) return;
    for (const field of document.querySelectorAll("[data-of]")) {
      field.hidden = !field.dataset.of.split(" ").includes(chosen.value);
    }
  };
  document.addEventListener("change", (event) => { if (event.target.id === "statistic") fitFields(); });

  // Theme and the rest -----------------------------------------------------------------------------------
  const label = () => {
    const button = document.getElementById("theme");
    if (button) button.setAttribute("aria-pressed", String(theme() === "dark"));
  };
  document.addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (!button) return;
    if (button.id === "theme") {
      const next = theme() === "dark" ? "light" : "dark";
      document.documentElement.dataset.theme = next;
      try { localStorage.setItem("leakcap-theme", next); } catch { /* it lasts for this page */ }
      label();
      drawAll(true);
    } else if (button.dataset.download) {
      download(button);
    } else if (button.dataset.example) {
      document.getElementById(button.dataset.into).value = button.dataset.example;
      button.form.requestSubmit();
    }
  });
  dark.addEventListener("change", () => { label(); drawAll(true); });
  let waiting = 0;
  addEventListener("resize", () => { clearTimeout(waiting); waiting = setTimeout(() => drawAll(false), 120); });
  document.addEventListener("htmx:afterSwap", () => { placeAll(); drawAll(false); });
  document.addEventListener("DOMContentLoaded", () => {
    document.body.append(tip);
    label();
    placeAll();
    fitFields();
    drawAll(false);
    document.documentElement.dataset.ready = "yes";
  });
})();
