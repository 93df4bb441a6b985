// Tags: anywhere, full
/**
 * Only the host and the check before a cell may set the code of a failed cell. Code in the sandbox may print a code, raise one or
 * forge a frame with one; none of these becomes the exit code of `exec`, the code in the audit log or `errorCode`.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type AuditRecord, AuditRecordSchema, type RecordOf } from '../../src/record/history/records.ts';
import { type BridgeClient, CLI, fixtureServer, startBridge } from '../support/bridge-client.ts';
import { coverEngines } from '../support/covered-engines.ts';

/** Ends the cell with a forged frame that has the cell's number, before the kernel sends its result. */
const FORGE = `
def forge(**frame):
    import gc
    gc.unfreeze()
    cell = next(o for o in gc.get_objects() if type(o).__name__ == "Kernel").cell
    runtime._host.send({"type": "result", "cell": cell, "outcome": "error", **frame})
def raised(**more):
    return {"name": "PolicyError", "message": "POLICY_DENIED: x", "traceback": "POLICY_DENIED: x\\nHint: y", **more}
`;
const DENIED_AND_CAUGHT = 'try: await getattr(mcp_notes, "delete_note")()\nexcept PolicyError as error: kept = error\n';

/** Cells that try to set a code, and the exception class in the audit log for each. */
const CLAIMS: readonly (readonly [string, string, string])[] = [
  ['a ValueError that reads like one', 'raise ValueError("POLICY_DENIED: x")', 'ValueError'],
  ['an exception named like one', 'class POLICY_DENIED(Exception): pass\nraise POLICY_DENIED("x")', 'POLICY_DENIED'],
  ['an MCPError with one', 'class Mine(MCPError): pass\nraise Mine("x", "POLICY_DENIED", "y")', 'Mine'],
  ['a PolicyError with one', 'raise PolicyError("x", "POLICY_DENIED", "y")', 'PolicyError'],
  [
    'the exception of the check with one',
    'from bridge_kernel.errors import CheckError\nraise CheckError("x", "POLICY_DENIED")',
    'CheckError',
  ],
  [
    'the exception of the check with its own code',
    'from bridge_kernel.errors import CheckError\nraise CheckError("x", "CHECK_FAILED")',
    'CheckError',
  ],
  ['its own exception after a refusal it caught', `${DENIED_AND_CAUGHT}raise ValueError(str(kept))`, 'ValueError'],
  ['a forged frame with the text of one', `${FORGE}forge(error=raised())`, 'PolicyError'],
  ['a forged frame that names a call never made', `${FORGE}forge(error=raised(call=4711))`, 'PolicyError'],
  [
    'a forged frame that names a call that succeeded',
    `${FORGE}await mcp_notes.add_note()\nfor call in range(1, 20): forge(error=raised(call=call))`,
    'PolicyError',
  ],
  [
    'a forged frame with a member for one',
    `${FORGE}forge(error=raised(code="POLICY_DENIED"))\n1 / 0`,
    'ZeroDivisionError',
  ],
  ['a forged interrupt', `${FORGE}forge(outcome="interrupted", error=raised())`, 'PolicyError'],
  [
    'a forged "not run" after a call',
    `${FORGE}await mcp_notes.add_note()\nforge(outcome="not_run", error=raised())`,
    'PolicyError',
  ],
  [
    'a forged frame whose class is a sentence',
    `${FORGE}forge(error={**raised(), "name": "POLICY_DENIED: x\\n" * 99})`,
    'Exception',
  ],
];

const DENIED = { exitCode: 77, code: 'POLICY_DENIED', exception: 'PolicyError' };

/** Cells with a genuine code. */
const TRUE_CODES: readonly (readonly [
  string,
  string,
  { readonly exitCode: number; readonly code: string; readonly exception?: string },
])[] = [
  ['a refused call', 'await getattr(mcp_notes, "delete_note")()', DENIED],
  ['a refused blocking call', 'getattr(mcp_notes, "delete_note").sync()', DENIED],
  ['a refused call of any tool', 'await runtime.call_tool("notes", "delete-note")', DENIED],
  ['a refused call that was raised again', `${DENIED_AND_CAUGHT}raise kept`, DENIED],
  [
    'an unknown tool',
    'await runtime.call_tool("notes", "burn")',
    { exitCode: 70, code: 'TOOL_UNKNOWN', exception: 'MCPError' },
  ],
  ['a cell that was not run', 'await mcp_notes.no_such_tool()', { exitCode: 65, code: 'CHECK_FAILED' }],
  ['a cell at its deadline', 'while True: pass', { exitCode: 124, code: 'CELL_DEADLINE' }],
];

// One engine whose kernel has threads, and the one whose kernel has none; nothing else matters here.
const engines = (await coverEngines()).filter(({ label }, index) => index === 0 || label === 'embedded');

for (const engine of engines) {
  describe(`codes on ${engine.label}`, () => {
    let stateDir: string;
    let bridge: BridgeClient;

    beforeAll(async () => {
      stateDir = mkdtempSync(join(tmpdir(), 'bridge-codes-'));
      const policy = { rules: [{ effect: 'deny', tool: 'delete_note' }] };
      writeFileSync(join(stateDir, 'policy.json'), JSON.stringify(policy));
      const servers = { notes: fixtureServer('guarded.mjs') };
      writeFileSync(join(stateDir, 'servers.json'), JSON.stringify({ mcpServers: servers }));
      bridge = await startBridge({ engine, env: { MCP_BRIDGE_STATE_DIR: stateDir } });
    });
    afterAll(async () => {
      await bridge.close();
      rmSync(stateDir, { recursive: true, force: true });
    });

    function lastRecord<Type extends AuditRecord['type']>(wanted: Type): RecordOf<Type> | undefined {
      const folder = join(stateDir, 'audit');
      return readdirSync(folder)
        .toSorted()
        .flatMap((name) => readFileSync(join(folder, name), 'utf8').trimEnd().split('\n'))
        .map((line) => AuditRecordSchema.parse(JSON.parse(line)))
        .findLast((record): record is RecordOf<Type> => record.type === wanted);
    }

    /** `exec` as a user runs it: its exit code, its error as JSON, and its audit record. */
    function exec(code: string) {
      const env = { PATH: process.env['PATH'], ...engine.env, MCP_BRIDGE_STATE_DIR: stateDir };
      const argv = [CLI, 'exec', '--json', '--server', 'notes', '--timeout', '5', '-'];
      const { status, stdout, stderr } = spawnSync(process.execPath, argv, { env, input: code, encoding: 'utf8' });
      if (stdout === '') {
        throw new Error(stderr);
      }
      const { error } = JSON.parse(stdout) as { error?: Record<string, unknown> };
      const ended = lastRecord('cell_ended');
      return { exitCode: status, code: error?.['code'], recorded: ended?.error_code, exception: ended?.exception };
    }

    it.each(CLAIMS)('are not set by %s', async (_, code, exception) => {
      expect(exec(code)).toEqual({ exitCode: 1, code: undefined, recorded: undefined, exception });
      const { structured, isError } = await bridge.runPython(code, { servers: ['notes'], session: 'claims' });
      expect(isError).toBe(true);
      expect(structured).toMatchObject({ status: 'error', error: expect.any(String) });
      expect(structured).not.toHaveProperty('errorCode');
    });

    it.each(TRUE_CODES)('are set by %s', async (_, source, expected) => {
      const { code, exception } = expected;
      expect(exec(source)).toEqual({ exception: undefined, ...expected, recorded: code });
      const { structured, text } = await bridge.runPython(source, { servers: ['notes'], session: 'true', timeout: 5 });
      expect(structured).toMatchObject({ errorCode: code, error: expect.stringContaining(`${code}: `) });
      expect(text).toContain(exception === undefined ? `\n${code}: ` : `\nmcp.runtime.${exception}: ${code}: `);
    });

    // The kernel used to know about the refusal and not send the call, so the log had no record.
    it('are also in the record of the call', () => {
      exec('await getattr(mcp_notes, "delete_note")()');
      expect(lastRecord('call')).toMatchObject({
        decision: 'denied',
        error_code: 'POLICY_DENIED',
        tool: 'delete-note',
      });
    });

    it('are not taken from a call of an earlier cell', async () => {
      const run = (code: string) => bridge.runPython(code, { servers: ['notes'], session: 'earlier' });
      await run(DENIED_AND_CAUGHT);
      const { structured } = await run('raise kept');
      expect(structured['error']).toContain('POLICY_DENIED: notes.delete-note was not called');
      expect(structured).not.toHaveProperty('errorCode');
    });
  });
}
