/** One family of the text format 0.0.4. */
export interface MetricFamily {
  readonly type: string;
  readonly help: string;
  /** By `name{label="value",...}`, labels in order of their names. */
  readonly samples: ReadonlyMap<string, number>;
}

const helpLine = /^# HELP ([a-z_:][a-z0-9_:]*) (.*)$/i;
const typeLine = /^# TYPE ([a-z_:][a-z0-9_:]*) (counter|gauge|histogram|summary)$/i;
const sampleLine = /^([a-z_:][a-z0-9_:]*)(?:\{(.*)\})? (-?[0-9.e+-]+|NaN|[+-]Inf)$/i;
const labelPart = /([a-z_][a-z0-9_]*)="((?:[^"\\\n]|\\[\\"n])*)"(?:,|$)/giy;

/** Reads the text format, strictly: each line is a help, a type, a sample of the family above it, or empty. */
export function parsePrometheus(text: string): ReadonlyMap<string, MetricFamily> {
  const families = new Map<string, { type: string; help: string; samples: Map<string, number> }>();
  let name = "";
  if (!text.endsWith("\n")) throw new Error("the text does not end with a line break");
  for (const line of text.split("\n")) {
    const help = helpLine.exec(line);
    const type = typeLine.exec(line);
    const sample = sampleLine.exec(line);
    if (help !== null) {
      name = help[1] ?? "";
      if (families.has(name)) throw new Error(`a second family ${name}`);
      families.set(name, { type: "", help: help[2] ?? "", samples: new Map() });
    } else if (type !== null && type[1] === name) {
      const family = families.get(name);
      if (family === undefined || family.type !== "") throw new Error(`misplaced: ${line}`);
      family.type = type[2] ?? "";
    } else if (sample !== null) {
      const [, sampleName = "", labels = "", value = ""] = sample;
      const family = families.get(name);
      const suffix = sampleName.slice(name.length);
      const isOurs = sampleName.startsWith(name) && (suffix === "" || /^_(bucket|sum|count)$/.test(suffix));
      if (family === undefined || !isOurs) throw new Error(`no family above it: ${line}`);
      const key = labels === "" ? sampleName : `${sampleName}{${labelsOf(labels)}}`;
      if (family.samples.has(key)) throw new Error(`a second sample ${key}`);
      family.samples.set(key, value === "+Inf" ? Infinity : Number(value));
    } else if (line !== "") throw new Error(`not understood: ${line}`);
  }
  return families;
}

function labelsOf(text: string): string {
  const parts: string[] = [];
  labelPart.lastIndex = 0;
  while (labelPart.lastIndex < text.length) {
    const at = labelPart.lastIndex;
    const part = labelPart.exec(text);
    if (part === null) throw new Error(`labels not understood: ${text.slice(at)}`);
    parts.push(`${part[1]}="${part[2]}"`);
  }
  return parts.toSorted().join(",");
}
