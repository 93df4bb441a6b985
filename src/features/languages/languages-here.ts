/** Which languages run on which kind of engine, as far as that can be said without asking the engine. */

import type { Engine } from '../../core/session/engine.ts';
import type { LanguagesHere } from '../../core/session/engine-report.ts';
import type { Environment } from '../../edges/engines/client-env.ts';
import type { Settings } from '../../edges/settings/settings.ts';
import { interpreterOf, type Language, readLanguages } from './languages-file.ts';
import { findOnMachine } from './machine-programs.ts';

/** Why a language does not run on an engine without images; undefined if it does. */
export async function whyNotHere(
  { programs }: Pick<Engine, 'programs'>,
  language: Language,
  env: Environment,
): Promise<string | undefined> {
  if (programs === 'own') {
    return interpreterOf(language) !== undefined ? undefined : 'needs a container engine';
  }
  try {
    await findOnMachine(language, env);
    return undefined;
  } catch {
    return `install ${language.command[0]}`;
  }
}

/** Reads the table of languages. The function is undefined if that cannot be read, which the first program reports. */
export async function readLanguagesHere(
  { pull, stateDir }: Pick<Settings, 'pull' | 'stateDir'>,
  env: Environment,
): Promise<((engine: Pick<Engine, 'programs'>) => LanguagesHere) | undefined> {
  const all = await readLanguages(stateDir).then(
    (table) => table.all,
    () => undefined,
  );
  if (all === undefined) {
    return undefined;
  }
  const names = all.map(({ name }) => name);
  const [own, machine] = await Promise.all([runningOn('own', all, env), runningOn('machine', all, env)]);
  const none: readonly string[] = [];
  const byKind = { own, machine, images: names, none };
  return ({ programs }) => {
    const ready = byKind[programs ?? 'none'];
    const condition =
      programs === 'images' && pull === 'never' ? 'Each needs its image on the machine of the bridge.' : undefined;
    return { ready, absent: names.filter((name) => !ready.includes(name)), condition };
  };
}

async function runningOn(
  programs: 'machine' | 'own',
  all: readonly Language[],
  env: Environment,
): Promise<readonly string[]> {
  const reasons = await Promise.all(all.map((language) => whyNotHere({ programs }, language, env)));
  return all.filter((_, index) => reasons[index] === undefined).map(({ name }) => name);
}
