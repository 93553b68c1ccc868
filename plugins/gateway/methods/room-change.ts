import type { z } from "zod";
import type { GatewayHost } from "../host.ts";
import { defineMethod, type Method, type MethodDefinition } from "../rpc-table.ts";

/**
 * A method that changes a room. What it causes there, its caller is told behind the reply, like everybody else's changes that
 * fall into that time.
 */
export function defineRoomChange<Params extends z.ZodObject<{ room_id: z.ZodString }>, Result extends z.ZodType>(
  definition: MethodDefinition<Params, Result, GatewayHost>,
): Method {
  return defineMethod({
    ...definition,
    handler: (params, call) => {
      call.afterCall(call.host.subscriptions.of(call.client).hold(String(params.room_id)));
      return definition.handler(params, call);
    },
  });
}
