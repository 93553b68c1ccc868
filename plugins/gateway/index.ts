export { isLoopback } from "./addresses.ts";
export { auditTo, noAudit, type Audit, type AuditOutcome } from "./audit.ts";
export {
  parseAuth,
  secretsOfAuth,
  type AuthConfig,
  type AuthGrant,
  type AuthOptions,
  type TokenConfig,
} from "./auth-config.ts";
export { closeCodes, type CloseWord, type LeaveCause } from "./close-codes.ts";
export type { Counted } from "./counts.ts";
export type { Authenticate, Credential, Identity } from "./credentials.ts";
export { createGateway, type Gateway, type GatewayParts } from "./gateway.ts";
export { withAuth, type GatewayLimits, type GatewayOptions } from "./gateway-options.ts";
export { HostOfGateways, scopedFanOut, type GatewayHostParts } from "./gateway-host.ts";
export type { GatewayHost, HostRoutes, Response, RouteFound, TransportHost } from "./host.ts";
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
export { schemaCommands } from "./schema-command.ts";
export { jsonSchemaOf, openRpcOf } from "./schema.ts";
export type { JwksConfig } from "./jwt-config.ts";
export type { Who as GatewayWho } from "./reception.ts";
export type { Address, Listening } from "./server.ts";
export { StdioGateway, type StdioEnd, type StdioParts } from "./stdio.ts";
export { WebSocket } from "./sockets.ts";
export { OpenGateways } from "./open-gateways.ts";
