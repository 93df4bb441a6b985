// @ts-check
/**
 * Preloaded into the bridge by `main.ts`: writes to a file how many bytes each function allocated, also those that were collected
 * again. More telling than time on a machine with other work.
 */
import { writeFileSync } from 'node:fs';
import { Session } from 'node:inspector';

const SAMPLING_BYTES = 2_048;
const SHOWN = 40;
const units = Number(process.env['PROFILED_UNITS'] ?? '1');
const session = new Session();
session.connect();
session.post('HeapProfiler.startSampling', {
  samplingInterval: SAMPLING_BYTES,
  includeObjectsCollectedByMajorGC: true,
  includeObjectsCollectedByMinorGC: true,
});

process.on('exit', () => {
  session.post('HeapProfiler.getSamplingProfile', (error, result) => {
    if (error !== null) {
      return;
    }
    /** @type {Map<string, number>} */
    const sizes = new Map();
    let total = 0;
    const nodes = [result.profile.head];
    for (const { callFrame, children, selfSize } of nodes) {
      const { functionName, lineNumber, url } = callFrame;
      const name = `${url.split('/').at(-1)}:${lineNumber + 1} ${functionName}`;
      sizes.set(name, (sizes.get(name) ?? 0) + selfSize);
      total += selfSize;
      nodes.push(...children);
    }
    const largest = [...sizes].toSorted(([, a], [, b]) => b - a).slice(0, SHOWN);
    const lines = [['', total], ...largest].map(
      ([name, bytes]) => `${(Number(bytes) / units).toFixed(0).padStart(8)}  ${name === '' ? 'in total' : name}`,
    );
    writeFileSync(process.env['PROFILED_FILE'] ?? '', `${lines.join('\n')}\n`);
  });
});
