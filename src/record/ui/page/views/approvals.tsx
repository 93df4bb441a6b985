/** Approvals: questions that wait for a person. Whoever answers first counts, here or at the client. */
import { useId, useState } from 'preact/hooks';
import { makeVisible } from '../../../../core/catalog/visible.ts';
import type { UiApproval, UiWrittenRules } from '../../schema.ts';
import { pathTo, post } from '../api.ts';
import { askForOverview } from '../connection.ts';
import { formatAge, formatNumberOf, formatWhen } from '../format.ts';
import { safeAddress } from '../links.ts';
import type { PastQuestion } from '../live-model.ts';
import { ActionButton, Empty, Status } from '../parts/controls.tsx';
import { DataTable } from '../parts/data-table.tsx';
import { OutLink, Shown } from '../parts/text.tsx';
import { type EnteredValue, type FormField, formFields, readForm } from '../question-form.ts';
import { clock, focusHeading, live, notify } from '../store.ts';

export function ApprovalsView() {
  const { answered, approvals } = live();
  return (
    <>
      {approvals.length === 0 ? (
        <Empty title="Nothing waits for you.">
          When a rule of your policy says <code>ask</code>, the question appears here and at the client. Whoever answers
          first counts.
        </Empty>
      ) : (
        approvals.map((approval) => <Question key={`${approval.bridge}/${approval.id}`} approval={approval} />)
      )}
      {answered.length > 0 && <Answered answered={answered} />}
    </>
  );
}

function Question({ approval }: { readonly approval: UiApproval }) {
  const { bridge, id, message, mode, principal, schedule, session = '' } = approval;
  const [kind, name] = schedule === undefined ? ['Session', session] : ['Schedule', schedule.name];
  const answer = async (body: object): Promise<unknown> => {
    const result = await post(pathTo(['bridges', bridge, 'approvals', id]), body);
    askForOverview();
    focusHeading();
    return result;
  };
  return (
    <article class="card question" aria-label={`Question of ${kind.toLowerCase()} ${name}`}>
      <header class="card-head">
        <h2>
          {kind} <Shown text={name} /> asks
        </h2>
        {schedule !== undefined && <span class="dim">in its run of {dueOf(schedule.run)}</span>}
        {principal !== undefined && (
          <span class="dim">
            for <Shown text={principal} />
          </span>
        )}
        <span class="spring" />
        <span class="dim">waiting for {formatAge(clock.value - Date.parse(approval.asked))}</span>
      </header>
      <pre class="message" tabIndex={0} role="group" aria-label="The question">
        <Shown text={message} />
      </pre>
      <Rules approval={approval} />
      {mode === 'url' ? (
        <PageAnswer approval={approval} answer={answer} />
      ) : (
        <FormAnswer approval={approval} answer={answer} />
      )}
      <Always approval={approval} />
    </article>
  );
}

/** When a run was due, of which its id is the time. */
function dueOf(run: string): string {
  const at = Date.parse(run.replace(/T(\d\d)-(\d\d)-(\d\d)/, 'T$1:$2:$3'));
  return Number.isNaN(at) ? makeVisible(run) : formatWhen(new Date(at).toISOString(), clock.value);
}

interface AnswerProps {
  readonly approval: UiApproval;
  readonly answer: (body: object) => Promise<unknown>;
}

function PageAnswer({ answer, approval: { url = '' } }: AnswerProps) {
  const address = safeAddress(url);
  return (
    <div class="answer">
      <p>
        {address === undefined ? (
          <>
            Its address is not one of the web, so it is no link: <Shown text={url} />
          </>
        ) : (
          <OutLink href={address} />
        )}
      </p>
      <div class="buttons">
        <ActionButton
          kind="primary"
          label="I have opened it"
          act={() => answer({ action: 'accept' })}
          done="Answered."
        />
        <ActionButton label="Decline" act={() => answer({ action: 'decline' })} done="Declined." />
      </div>
    </div>
  );
}

function FormAnswer({ answer, approval: { schema } }: AnswerProps) {
  const fields = formFields(schema);
  const [entered, setEntered] = useState<Readonly<Record<string, EnteredValue>>>({});
  const [first] = fields;
  // One choice is answered with one button for each option.
  if (fields.length === 1 && first?.kind === 'choice') {
    return <ChoiceButtons field={first} answer={answer} />;
  }
  const submit = (): Promise<unknown> => {
    const read = readForm(fields, entered);
    if ('problem' in read) {
      notify(read.problem, true);
      return Promise.resolve(false);
    }
    return answer({ action: 'accept', content: read.content });
  };
  return (
    <div class="answer form">
      {fields.map((field) => (
        <FieldInput
          key={field.name}
          field={field}
          value={entered[field.name] ?? field.initial}
          change={(value) => setEntered({ ...entered, [field.name]: value })}
        />
      ))}
      <div class="buttons">
        <ActionButton kind="primary" label={fields.length === 0 ? 'Accept' : 'Send'} act={submit} done="Answered." />
        <ActionButton label="Decline" act={() => answer({ action: 'decline' })} done="Declined." />
      </div>
    </div>
  );
}

const REFUSAL = /^(?:do not|don't|no\b|never|deny|decline)/i;

function ChoiceButtons({ answer, field }: { readonly field: FormField; readonly answer: AnswerProps['answer'] }) {
  return (
    <div class="answer buttons" role="group" aria-label={makeVisible(field.title)}>
      {field.options.map(({ label, value }, index) => (
        <ActionButton
          key={value}
          kind={REFUSAL.test(label) ? 'danger' : index === 0 ? 'primary' : 'plain'}
          label={<Shown text={label} />}
          act={() => answer({ action: 'accept', content: { [field.name]: value } })}
          done={`Answered: ${label}.`}
        />
      ))}
    </div>
  );
}

interface FieldInputProps {
  readonly field: FormField;
  readonly value: EnteredValue;
  readonly change: (value: EnteredValue) => void;
}

function FieldInput({ change, field, value }: FieldInputProps) {
  const id = useId();
  const text = typeof value === 'string' ? value : '';
  const label = (
    <>
      <Shown text={field.title} />
      {field.isRequired ? '' : ' (optional)'}
    </>
  );
  if (field.kind === 'flag') {
    return (
      <label class="check">
        <input type="checkbox" checked={value === true} onChange={(event) => change(event.currentTarget.checked)} />{' '}
        {label}
      </label>
    );
  }
  if (field.kind === 'choices') {
    return <ManyChoices field={field} value={Array.isArray(value) ? value : []} change={change} label={label} />;
  }
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {field.kind === 'choice' ? (
        <select id={id} value={text} onChange={(event) => change(event.currentTarget.value)}>
          <option value="">–</option>
          {field.options.map((option) => (
            <option key={option.value} value={option.value}>
              {makeVisible(option.label)}
            </option>
          ))}
        </select>
      ) : (
        <input
          id={id}
          value={text}
          inputMode={field.kind === 'number' ? 'decimal' : 'text'}
          autocomplete="off"
          onInput={(event) => change(event.currentTarget.value)}
        />
      )}
      {field.description !== '' && (
        <p class="dim">
          <Shown text={field.description} />
        </p>
      )}
    </div>
  );
}

interface ManyProps {
  readonly field: FormField;
  readonly value: readonly string[];
  readonly change: (value: EnteredValue) => void;
  readonly label: preact.ComponentChildren;
}

function ManyChoices({ change, field, label, value }: ManyProps) {
  const toggle = (option: string, isOn: boolean): void =>
    change(isOn ? [...value, option] : value.filter((each) => each !== option));
  return (
    <fieldset class="field">
      <legend>{label}</legend>
      {field.options.map((option) => (
        <label key={option.value} class="check">
          <input
            type="checkbox"
            checked={value.includes(option.value)}
            onChange={(event) => toggle(option.value, event.currentTarget.checked)}
          />{' '}
          <Shown text={option.label} />
        </label>
      ))}
    </fieldset>
  );
}

function Rules({ approval: { decided_by: rules = [] } }: { readonly approval: UiApproval }) {
  if (rules.length === 0) {
    return null;
  }
  return (
    <DataTable
      caption="Rules that apply"
      showsCaption
      columns={[{ title: 'Tool' }, { title: 'Says' }, { title: 'Rule' }]}
      rows={rules.map(({ decision, outcome, place, server, tool, why }, index) => ({
        key: String(index),
        cells: [
          <Shown key="tool" text={`${server}.${tool}`} />,
          <>
            {decision}
            {outcome === 'decides' ? '' : ' (may decide)'}
          </>,
          <Shown key="place" text={why === undefined ? place : `${place}: ${why}`} />,
        ],
      }))}
    />
  );
}

function Always({ approval }: { readonly approval: UiApproval }) {
  const { bridge, can_always_allow: always, id, why_not_always: why } = approval;
  if (always === undefined) {
    return why === undefined ? null : (
      <p class="dim">
        No rule can allow this: <Shown text={why} />
      </p>
    );
  }
  const write = async (): Promise<void> => {
    const written = await post<UiWrittenRules>(pathTo(['bridges', bridge, 'approvals', id, 'always']));
    askForOverview();
    focusHeading();
    notify(
      `Allowed. ${written.policy_file} has ${formatNumberOf(written.rules.length, 'new rule')}: ${written.rules.map(({ rule }) => rule).join(', ')}`,
    );
  };
  return (
    <details class="always">
      <summary>Always allow this…</summary>
      <p>
        This adds {always.rules.length === 1 ? 'this rule' : 'these rules'} to <Shown text={always.policy_file} />, then
        allows the question. Bridges use it at once.
      </p>
      {always.rules.map(({ place, rule }) => (
        <pre key={place} class="message" tabIndex={0} role="group" aria-label={`New rule, ${place}`}>
          <Shown text={rule} />
        </pre>
      ))}
      <ActionButton label="Write the rule and allow" act={write} />
    </details>
  );
}

const WHO: Readonly<Record<PastQuestion['answeredBy'], string>> = {
  client: 'At the client',
  operator: 'By the operator',
  nobody: 'Withdrawn, or not in time',
};

function Answered({ answered }: { readonly answered: readonly PastQuestion[] }) {
  return (
    <section aria-labelledby="answered">
      <h2 id="answered">Answered since you opened this page</h2>
      <DataTable
        caption="Answered questions"
        columns={[{ title: 'Session' }, { title: 'Answer' }, { title: 'By' }, { title: 'When' }]}
        rows={answered.map(({ action, answeredBy, at, id, session }) => ({
          key: id,
          cells: [
            <Shown key="session" text={session} />,
            action === undefined ? '–' : <Status key="answer" status={action} />,
            WHO[answeredBy],
            formatWhen(at, clock.value),
          ],
        }))}
      />
    </section>
  );
}
