import type * as Api from "@opentelemetry/api";
import { messageOf, RoomtapError } from "../../core/index.ts";

export type { Attributes, Context, Link, Span, SpanContext, Tracer } from "@opentelemetry/api";

/** What of the package is used. */
export type OtelApi = typeof Api;

/**
 * Reads the package, which is installed by who wants traces and by nobody else.
 * @throws RoomtapError `missing_package`
 */
export async function loadOtelApi(load: () => Promise<OtelApi> = () => import("@opentelemetry/api")): Promise<OtelApi> {
  try {
    return await load();
  } catch (cause) {
    const why = messageOf(cause);
    throw new RoomtapError("missing_package", `plugin otel: the package @opentelemetry/api cannot be loaded: ${why}`, {
      cause,
    });
  }
}
