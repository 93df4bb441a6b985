/** The jobs of a sandbox, as the host tracks them. */
import { expect, it } from 'vitest';
import { MAX_CALLS_PER_CELL, MAX_JOBS } from '../../../src/core/base/limits.ts';
import { Jobs } from '../../../src/core/session/jobs.ts';

it('accepts calls only of jobs that have started and not ended', () => {
  const jobs = new Jobs();
  expect(jobs.reasonToRefuse('a')).toMatchObject({ code: 'CALL_REFUSED' });
  jobs.start('a');
  expect(jobs.reasonToRefuse('a')).toBeUndefined();
  jobs.end('a');
  expect(jobs.reasonToRefuse('a')).toMatchObject({ code: 'CALL_REFUSED' });
});

it.each([[''], ['a b'], ['a\nb'], ['x'.repeat(65)], [7], [undefined]])('refuses the name %j', (name) => {
  expect(() => new Jobs().start(name)).toThrow('the name of a job must have 1 to 64');
});

it('refuses a second job of the same name, and too many jobs', () => {
  const jobs = new Jobs();
  for (let index = 0; index < MAX_JOBS; index += 1) {
    jobs.start(`job${index}`);
  }
  expect(() => jobs.start('job0')).toThrow("a job named 'job0' is running already");
  expect(() => jobs.start('more')).toThrow(`${MAX_JOBS} jobs are running`);
});

it('limits the calls of each job', () => {
  const jobs = new Jobs();
  jobs.start('busy');
  jobs.start('other');
  for (let call = 0; call < MAX_CALLS_PER_CELL; call += 1) {
    jobs.reasonToRefuse('busy');
  }
  expect(jobs.reasonToRefuse('busy')).toMatchObject({ code: 'LIMIT_CALLS' });
  expect(jobs.reasonToRefuse('other')).toBeUndefined();
});
