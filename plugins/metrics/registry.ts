import type * as Prom from "prom-client";
import type { MetricsSettings } from "./config.ts";
import { meterTable, type Measurement, type Meter, type MeterName } from "./meters.ts";

/** What the metrics are read as. */
export interface Exposition {
  readonly contentType: string;
  readonly text: string;
}

/** The metrics of one plugin, in a registry of its own. */
export interface MetricsRegistry {
  add(measurement: Measurement): void;
  /** Sets what is read elsewhere, by label: a gauge, or a counter that somebody else counts. */
  set(name: MeterName, values: readonly Omit<Measurement, "name">[]): void;
  read(): Promise<Exposition>;
}

type Prometheus = (typeof Prom)["default"];
type Metric = Prom.Counter | Prom.Gauge | Prom.Histogram;

/** Those of the process, once for each process: what collects them cannot be ended. */
let ofProcess: Prom.Registry | null = null;

/**
 * Makes the registry. The library is read here and not before: it takes a tenth of a second, which whoever has no use
 * for it is spared.
 */
export async function openRegistry(settings: MetricsSettings): Promise<MetricsRegistry> {
  // A module of CommonJS: what it exports stands under `default` for certain.
  const { default: prometheus } = await import("prom-client");
  const registry = new prometheus.Registry();
  const made = new Map<MeterName, Metric>();
  for (const [name, meter] of Object.entries(meterTable) as [MeterName, Meter][]) {
    made.set(name, makeMetric(prometheus, registry, { name, meter, labelNames: labelsOf(meter, settings) }));
  }
  return {
    add: ({ name, labels, value }) => {
      const metric = made.get(name);
      if (metric instanceof prometheus.Histogram) metric.observe(labels, value);
      else metric?.inc(labels, value);
    },
    set: (name, values) => {
      const metric = made.get(name);
      if (metric === undefined || metric instanceof prometheus.Histogram) return;
      metric.reset();
      for (const { labels, value } of values) metric.inc(labels, value);
    },
    read: async () => {
      const parts = [registry, ...(settings.process ? [processRegistry(prometheus)] : [])];
      const texts = await Promise.all(parts.map((part) => part.metrics()));
      return { contentType: registry.contentType, text: texts.join("\n") };
    },
  };
}

function labelsOf({ labels, isOwn = false }: Meter, { rooms, tools }: MetricsSettings): readonly string[] {
  const own = labels.filter((label) => tools || label !== "tool");
  return rooms && !isOwn ? [...own, "room"] : own;
}

function makeMetric(
  prometheus: Prometheus,
  registry: Prom.Registry,
  { name, meter, labelNames }: { readonly name: string; readonly meter: Meter; readonly labelNames: readonly string[] },
): Metric {
  const { type, help, buckets = [] } = meter;
  const options = { name, help, labelNames, registers: [registry] };
  if (type === "counter") return new prometheus.Counter(options);
  if (type === "gauge") return new prometheus.Gauge(options);
  return new prometheus.Histogram({ ...options, buckets: [...buckets] });
}

function processRegistry(prometheus: Prometheus): Prom.Registry {
  if (ofProcess === null) {
    ofProcess = new prometheus.Registry();
    prometheus.collectDefaultMetrics({ register: ofProcess });
  }
  return ofProcess;
}
