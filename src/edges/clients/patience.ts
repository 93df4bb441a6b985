/**
 * How long clients wait for the answer of a call, by the name that they give. Measured with a tool that answers late, in the versions of
 * `docs/internals/clients.md`; those of VS Code, Zed and Goose are from their source.
 */
import type { AnswerWithin } from './answer-within.ts';

interface Patience {
  /** Undefined if it waits until the end. */
  readonly ms: number | undefined;
  /** Whether each report of progress starts its clock again. */
  readonly isRestarted?: true;
}

/** Of Cline, Zed, and what the official SDK for TypeScript does by default: 60 s. A first call may have waited for the program. */
const USUAL: Patience = { ms: 45_000 };
const FIVE_MINUTES: Patience = { ms: 280_000 };

const KNOWN: Readonly<Record<string, Patience>> = {
  // 300 s over HTTP, 1,800 s over stdio.
  'claude-code': { ...FIVE_MINUTES, isRestarted: true },
  'codex-mcp-client': FIVE_MINUTES,
  'gemini-cli-mcp-client': { ms: 580_000 },
  opencode: { ...USUAL, isRestarted: true },
  'goose-cli': FIVE_MINUTES,
  'Visual Studio Code': { ms: undefined },
  // The clients of the official SDK for Python and of FastMCP.
  mcp: { ms: undefined },
  fastmcp: { ms: undefined },
};

/** How long this client waits for one answer, in ms; undefined if until the end. */
export function patienceOf(within: AnswerWithin, client: string | undefined, hasProgress: boolean): number | undefined {
  if (within !== 'auto') {
    return within === 'off' ? undefined : within;
  }
  const { isRestarted, ms } = client !== undefined && Object.hasOwn(KNOWN, client) ? (KNOWN[client] ?? USUAL) : USUAL;
  return isRestarted && hasProgress ? undefined : ms;
}
