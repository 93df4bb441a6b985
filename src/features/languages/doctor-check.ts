/** What `doctor` reports about languages: which ones are ready, and what the others need. */
import { toBridgeError } from '../../core/base/errors.ts';
import { silentLogger } from '../../core/base/log.ts';
import type { Engine } from '../../core/session/engine.ts';
import { runEngineCommand } from '../../edges/engines/client.ts';
import { clientEnvironment } from '../../edges/engines/client-env.ts';
import { findEngines } from '../../edges/engines/detect.ts';
import { engineOptions } from '../../edges/settings/engine-options.ts';
import { type Examination, type Examined, type Finding, problemOf } from '../../edges/terminal/finding.ts';
import { type Language, readLanguages } from './languages-file.ts';
import { whyNotHere } from './languages-here.ts';

/** How long an engine may take to say whether it has an image. */
const INSPECT_TIMEOUT_MS = 10_000;

export const examineLanguages: Examination = async ({ env, settings }) => {
  try {
    const { all } = await readLanguages(settings.stateDir);
    const { engines } = findEngines(engineOptions(settings, silentLogger));
    const [engine] = engines;
    return engine?.programs === undefined ? [] : await findingsOf(engine, all, { env, settings });
  } catch (error) {
    return [problemOf('engines', toBridgeError(error))];
  }
};

/** Images are asked for once each. */
async function findingsOf(
  engine: Engine,
  all: readonly Language[],
  examined: Pick<Examined, 'env' | 'settings'>,
): Promise<Finding[]> {
  const known = new Map<string, Promise<string | undefined>>();
  const reasons = await Promise.all(
    all.map(async (language) => {
      const image = language.image ?? examined.settings.image;
      const asked =
        engine.programs === 'images' ? (known.get(image) ?? whyNoImage(engine, image, examined)) : undefined;
      if (asked !== undefined) {
        known.set(image, asked);
      }
      return { name: language.name, reason: await (asked ?? whyNotHere(engine, language, examined.env)) };
    }),
  );
  const ready = reasons.filter(({ reason }) => reason === undefined).map(({ name }) => name);
  const others = reasons.flatMap(({ name, reason }) => (reason === undefined ? [] : [`${name} (${reason})`]));
  const rest = others.length === 0 ? '' : `; not ready: ${others.join(', ')}`;
  const text = `programs with ${engine.name}: ${ready.length === 0 ? 'no language is ready' : ready.join(', ')}${rest}`;
  return [{ section: 'engines', level: 'ok', text }];
}

async function whyNoImage(
  { name }: Engine,
  image: string,
  { env, settings }: Pick<Examined, 'env' | 'settings'>,
): Promise<string | undefined> {
  const command = { executable: name, env: clientEnvironment(env) };
  const argv = ['image', 'inspect', '--format', 'found', image];
  const { exitCode } = await runEngineCommand(command, argv, { timeoutMs: INSPECT_TIMEOUT_MS, endsWithProcess: true });
  if (exitCode === 0) {
    return undefined;
  }
  return settings.pull === 'never' ? `run: ${name} pull ${image}` : `its first use pulls ${image}`;
}
