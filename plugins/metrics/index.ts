import type { ActivityEvent, ActivityKind } from "../../core/index.ts";
import { definePlugin, type Plugin, type PluginContext, type RouteResponse } from "../plugin.ts";
import { metricsConfigSchema, type MetricsSettings } from "./config.ts";
import { Measurer } from "./measure.ts";
import { openRegistry, type MetricsRegistry } from "./registry.ts";

export type { MetricsConfig, MetricsSettings } from "./config.ts";

/** What is counted. Reasoning and interim texts are not. */
const counted = [
  "turn.started",
  "turn.settled",
  "turn.error",
  "tool.started",
  "tool.completed",
  "message.delta",
  "request.opened",
  "request.resolved",
] as const satisfies readonly ActivityKind[];

/**
 * The built-in `metrics`: numbers of turns, tools and questions at `/metrics`, for Prometheus, and `/livez` and `/readyz`. It sees
 * no texts, and names no member; rooms and tools it names when its config says so. It needs the grant `routes`.
 */
export function metrics(): Plugin<MetricsSettings> {
  return definePlugin({
    id: "metrics",
    version: "1.0.0",
    config: metricsConfigSchema,
    manifest: {
      apiVersion: 1,
      hooks: [...counted],
      permissions: { payload: "meta", routes: ["/metrics", "/livez", "/readyz"] },
      disclosure: "Tells how many turns, tool calls and questions there were, and how long they took.",
    },
    setup: (context, config) => setUp(context, config),
  });
}

async function setUp(context: PluginContext, settings: MetricsSettings): Promise<void> {
  const registry = await openRegistry(settings);
  const measurer = new Measurer(settings);
  context.on(counted, (event: ActivityEvent) => {
    for (const measurement of measurer.of(event)) registry.add(measurement);
  });
  const read = async (): Promise<RouteResponse> => {
    await readOwn(context, registry);
    const { contentType, text } = await registry.read();
    return { headers: { "content-type": contentType, "cache-control": "no-store" }, body: text };
  };
  context.routes.add("GET", "/metrics", read, { at: "server", scope: settings.scope });
  if (settings.health) addHealth(context);
}

/** What is known of the plugin's own queue: what it lost makes all other numbers too low. */
async function readOwn(context: PluginContext, registry: MetricsRegistry): Promise<void> {
  const [stats] = await context.stats();
  if (stats === undefined) return;
  const { dropped_by_kind, depth, delivered } = stats;
  registry.set(
    "roomtap_events_lost_total",
    counted.map((kind) => ({ labels: { kind }, value: dropped_by_kind[kind] ?? 0 })),
  );
  registry.set("roomtap_events_waiting", [{ labels: {}, value: depth }]);
  registry.set("roomtap_events_handled_total", [{ labels: {}, value: delivered }]);
}

/** Whether the process answers, and whether it is to be given work: not before its rooms are open, nor while it closes. */
function addHealth(context: PluginContext): void {
  let isReady = false;
  context.onReady(() => {
    isReady = true;
  });
  context.onDrain(() => {
    isReady = false;
  });
  const ready = (): RouteResponse =>
    isReady && !context.signal.aborted ? plain(200, "ready\n") : plain(503, "not ready\n");
  context.routes.add("GET", "/livez", () => plain(200, "live\n"), { at: "server", scope: "public" });
  context.routes.add("GET", "/readyz", ready, { at: "server", scope: "public" });
}

function plain(status: number, body: string): RouteResponse {
  return { status, headers: { "content-type": "text/plain; charset=utf-8", "cache-control": "no-store" }, body };
}
