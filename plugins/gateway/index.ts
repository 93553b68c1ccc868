export { isLoopback } from "./addresses.ts";
export { closeCodes, type CloseWord } from "./close-codes.ts";
export type { Counted } from "./counts.ts";
export type { Authenticate, Credential, Identity } from "./credentials.ts";
export { createGateway, type Gateway, type GatewayOptions, type GatewayParts } from "./gateway.ts";
export { HostOfGateways, scopedFanOut, SessionOwners, type GatewayHostParts } from "./gateway-host.ts";
export type { GatewayHost, Response, TransportHost } from "./host.ts";
export { gatewayTable } from "./methods/index.ts";
export {
  AtReply,
  atReply,
  defineMethod,
  RpcTable,
  type Call,
  type Fitting,
  type Given,
  type Method,
  type MethodDefinition,
} from "./rpc-table.ts";
export { rpcNumber, type RpcError } from "./rpc-errors.ts";
export { jsonSchemaOf, openRpcOf } from "./schema.ts";
export type { Address, Listening } from "./server.ts";
export { StdioGateway, type StdioEnd, type StdioParts } from "./stdio.ts";
export { WebSocket } from "./sockets.ts";
