import { z } from "zod";
import { limits, requestMethods, RoomtapError } from "../../../core/index.ts";
import { defineMethod, type Method } from "../rpc-table.ts";

/** Answered by the transport before anything else, also while every handler is busy; over stdio there is none. */
export const pingMethod = "gateway.ping";

/** What concerns the connection itself. */
export const gatewayMethods: readonly Method[] = [
  defineMethod({
    name: pingMethod,
    summary: "Says that the connection lives. Not over stdio.",
    params: z.object({}),
    result: z.object({ ok: z.literal(true) }),
    handler: () => ({ ok: true as const }),
  }),
  defineMethod({
    name: "client.capabilities",
    summary: "Says what the client takes: server requests come only to a connection that said so.",
    params: z.object({ server_requests: z.boolean().optional() }),
    result: z.object({ server_requests: z.array(z.string()) }),
    handler({ server_requests }, { client, host, afterReply }) {
      client.advertises = server_requests ?? client.advertises;
      if (client.advertises) afterReply(() => host.delivery.advertised(client));
      return { server_requests: [...requestMethods] };
    },
  }),
  defineMethod({
    name: "gateway.ticket",
    summary: "A ticket by which the same principal comes again, once, from the same page. Not over stdio.",
    params: z.object({}),
    result: z.object({ ticket: z.string(), expires_in: z.int() }),
    errors: ["rate_limited", "not_supported"],
    handler(_params, { client }) {
      if (client.mintTicket === null) throw new RoomtapError("not_supported", "there are no tickets over stdio");
      const ticket = client.mintTicket();
      if (ticket !== null) return { ticket, expires_in: limits.resumeTokenMs / 1_000 };
      throw new RoomtapError("rate_limited", "too many tickets of this principal wait to be used, or were just made");
    },
  }),
  defineMethod({
    name: "session.events.stats",
    summary: "What is kept for replay, and the bounds of it.",
    params: z.object({}),
    result: z.object({
      sessions: z.int(),
      events: z.int(),
      bytes: z.int(),
      max_per_session: z.int(),
      max_bytes_per_session: z.int(),
      max_bytes_process: z.int(),
    }),
    handler: (_params, { host }) => ({ ...host.fanOut.stats().replay }),
  }),
];
