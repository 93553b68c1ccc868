import type { ActivityEvent, ActivityKind } from "../../core/index.ts";
import { definePlugin, type Plugin, type PluginContext } from "../plugin.ts";
import { loadOtelApi } from "./api.ts";
import { otelConfigSchema, type OtelSettings } from "./config.ts";
import { TurnSpans } from "./turn-spans.ts";

export type { OtelConfig, OtelSettings } from "./config.ts";

/** Of what spans are made. */
const traced = [
  "turn.started",
  "turn.settled",
  "turn.error",
  "tool.started",
  "tool.completed",
  "request.opened",
  "request.resolved",
] as const satisfies readonly ActivityKind[];

/**
 * The built-in `otel`: a span for each turn, `invoke_agent NAME`, and below it one for each tool call, `execute_tool NAME`, by the
 * conventions of OpenTelemetry for generative AI. Without `content` in its config no text reaches it. Where spans go is
 * said by the tracer provider that the program has set; it needs the package `@opentelemetry/api`.
 */
export function otel(): Plugin<OtelSettings> {
  return definePlugin({
    id: "otel",
    version: "1.0.0",
    config: otelConfigSchema,
    manifest: {
      apiVersion: 1,
      hooks: [...traced],
      // The tracer provider is a global of the host's thread: in a worker there would be none, and no span would go anywhere.
      isolation: "inline",
      disclosure:
        "Sends which member ran which tools when, and with `content` all texts, to where the program's traces go.",
    },
    setup: (context, config) => setUp(context, config),
  });
}

async function setUp(context: PluginContext, settings: OtelSettings): Promise<void> {
  const api = await loadOtelApi();
  const { tracer: tracerName, content } = settings;
  const spans = new TurnSpans({ api, tracer: api.trace.getTracer(tracerName), content }, settings);
  // Undone behind the handler: no event comes when open spans have been ended.
  context.defer(() => spans.end(context.clock.now()));
  const onEvent = (event: ActivityEvent): unknown => {
    if (event.kind !== "turn.started") return spans.on(event);
    // Samplers look at a name only when its span begins.
    return nameOf(context, event.coordinates).then((name) => spans.on(event, name));
  };
  context.on(traced, onEvent, { payload: content ? "standard" : "meta" });
}

/** How a member is called now; null when its room is not known here. */
async function nameOf(
  { rooms }: PluginContext,
  { room_id, member_id }: { readonly room_id: string; readonly member_id: string },
): Promise<string | null> {
  try {
    const room = (await rooms.list()).find((each) => each.room_id === room_id);
    return room?.members.find((member) => member.member_id === member_id)?.display_name ?? null;
  } catch {
    // The host is closing: a span without a name is better than none.
    return null;
  }
}
