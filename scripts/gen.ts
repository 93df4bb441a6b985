/**
 * Writes everything that is generated from definitions in the sources: the JSON Schema of the frames and the tables in the
 * documentation. `--check` writes nothing and fails if a file is out of date.
 */
import { readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { renderPool } from './generate/agent-sandbox.ts';
import { renderAuditRecords } from './generate/audit-records.ts';
import { renderClientFiles, renderClientSources } from './generate/clients.ts';
import { renderCommands } from './generate/commands.ts';
import { renderCasesElsewhere, renderFaultCases, renderGates } from './generate/faults.ts';
import { renderFilterPrograms, renderSeccompProfile } from './generate/filter-programs.ts';
import { renderFrameSchema, renderPolicySchema } from './generate/json-schemas.ts';
import { renderLayerTable } from './generate/layers.ts';
import { renderLiveAnswers, renderLiveEvents } from './generate/live-api.ts';
import { replaceGenerated } from './generate/markers.ts';
import { renderExceptions, renderProbes } from './generate/probes.ts';
import {
  renderCallMethods,
  renderErrorPages,
  renderErrors,
  renderFrames,
  renderSettings,
  renderSupervisorReports,
} from './generate/tables.ts';
import { renderUiAnswers, renderUiEvents } from './generate/ui-api.ts';

/** Path in the package, and a function from its current contents to the new ones. */
const OUTPUTS: Readonly<Record<string, (current: string) => string | Promise<string>>> = {
  'sandbox-runtime/bridge_kernel/frames.schema.json': renderFrameSchema,
  'src/edges/engines/embedded/filter-programs.ts': renderFilterPrograms,
  'sandbox-runtime/program-seccomp.json': renderSeccompProfile,
  'deploy/kubernetes/agent-sandbox/pool.yaml': renderPool,
  'docs/internals/protocol.md': (current) =>
    replaceGenerated(current, {
      'frames of the host': () => renderFrames('HostFrame'),
      'frames of the sandbox': () => renderFrames('SandboxFrame'),
      'reports of the supervisor': renderSupervisorReports,
      'call methods': renderCallMethods,
    }),
  'docs/reference/audit-records.md': (current) => replaceGenerated(current, { records: renderAuditRecords }),
  'docs/reference/live-api.md': (current) =>
    replaceGenerated(current, { answers: renderLiveAnswers, events: renderLiveEvents }),
  'docs/reference/ui-api.md': (current) =>
    replaceGenerated(current, { answers: renderUiAnswers, events: renderUiEvents }),
  'test/support/probes/README.md': (current) =>
    replaceGenerated(current, { probes: renderProbes, 'probes that come out otherwise': renderExceptions }),
  'docs/reference/errors.md': (current) =>
    replaceGenerated(current, { errors: renderErrors, 'pages of errors': renderErrorPages }),
  'test/faults/README.md': (current) =>
    replaceGenerated(current, {
      gates: renderGates,
      'fault cases': renderFaultCases,
      'cases elsewhere': renderCasesElsewhere,
    }),
  'docs/internals/architecture.md': (current) => replaceGenerated(current, { folders: renderLayerTable }),
  'docs/reference/policy.schema.json': renderPolicySchema,
  'docs/reference/commands.md': (current) => replaceGenerated(current, { commands: renderCommands }),
  'docs/clients.md': (current) => replaceGenerated(current, { clients: renderClientFiles }),
  'docs/internals/clients.md': (current) => replaceGenerated(current, { 'sources of clients': renderClientSources }),
  'docs/reference/settings.md': (current) => replaceGenerated(current, { settings: renderSettings }),
};

const isCheck = process.argv.includes('--check');
const root = fileURLToPath(new URL('..', import.meta.url));
for (const [path, render] of Object.entries(OUTPUTS)) {
  const current = await readFile(`${root}${path}`, 'utf8').catch(() => '');
  const wanted = await render(current);
  if (wanted === current) {
    continue;
  }
  if (isCheck) {
    console.error(`${path} is out of date: run \`npm run gen\``);
    process.exitCode = 1;
  } else {
    await writeFile(`${root}${path}`, wanted);
    console.log(`wrote ${path}`);
  }
}
