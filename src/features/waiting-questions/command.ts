/** `approvals …`: questions of scheduled runs, answered at a terminal. */
import { InvalidArgumentError } from 'commander';
import { action, argument, choice, type Group, type LineOf, repeated } from '../../edges/terminal/define.ts';

const ids = argument('<id...>', 'ids of questions, as `approvals list` prints them');

export const APPROVALS = {
  command: 'approvals',
  summary: 'answer questions of scheduled runs',
  description: 'Show and answer the questions for which scheduled runs wait.',
  defaultAction: 'list',
  actions: () => ({
    list: action('List the questions that wait, the oldest first.', {}),
    show: action('Show a whole question, and how to answer it.', {
      question: argument('<id>', 'id of the question, as `approvals list` prints it'),
    }),
    allow: action(
      'Answer yes. Where there are several ways, you choose one at the terminal, or with an option.',
      {
        ids,
        duration: choice('--for <time>', 'how long the call is allowed in its schedule', ['once', 'always']),
        fields: repeated('--field <name=value>', 'value of a field of the form; may be repeated', (text) => {
          if (!/^[^=]+=/.test(text)) {
            throw new InvalidArgumentError('It must be name=value.');
          }
          return [text];
        }),
      },
      {
        notes: 'Answers are final: the run that asks goes on with them.',
        check({ duration, fields }, definition) {
          if (duration !== undefined && fields.length > 0) {
            definition.error('error: approvals allow takes --for or --field, not both');
          }
        },
      },
    ),
    deny: action('Answer no: what was asked about is not done.', { ids }),
  }),
} as const satisfies Group;

export type ApprovalsCommand = LineOf<typeof APPROVALS>;
