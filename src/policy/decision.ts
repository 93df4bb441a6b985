/** What a policy says of a call. */

/** From the mildest to the strictest. */
export const EFFECTS = ['allow', 'ask', 'deny'] as const;

/** `allow`: the call is made; `ask`: a person decides; `deny`: it is refused. */
export type Effect = (typeof EFFECTS)[number];

/** A call as a policy looks at it. */
export interface PolicyCall {
  /** Name of the server, as configured, and its alias in Python. */
  readonly server: { readonly name: string; readonly alias: string };
  readonly tool: {
    readonly name: string;
    readonly alias: string;
    /** What the server says of the tool (MCP `ToolAnnotations`); not to be trusted. */
    readonly annotations?: Readonly<Record<string, unknown>>;
    readonly inputSchema: Readonly<Record<string, unknown>>;
  };
  readonly arguments: Readonly<Record<string, unknown>>;
}

export interface Decision {
  readonly effect: Effect;
  /** What decides it: the rule and its place, one clause for people. */
  readonly reason: string;
}
