/** Designing a notification: its recipients, channels, message and filter, with previews beside them. */
import { Badge, Modal, TextInput } from '@mantine/core';
import { IconEye, IconSend } from '@tabler/icons-react';
import { useState } from 'react';
import { api, take } from '../api.ts';
import { media, type Notification, type Simulation } from '../api-types.ts';
import { GuardedButton, tellSuccess, useAction } from '../components/actions.tsx';
import { EditorPage } from '../editor/editor-page.tsx';
import type { Tagged } from '../editor/use-tagged-draft.ts';
import { type EventPath, format, parseObject, useSample } from '../events/sample.ts';
import { SimulationView } from '../events/simulation-view.tsx';
import { useLayouts } from '../layouts/use-layouts.ts';
import { to } from '../places.ts';
import { texts } from '../texts/designer.ts';
import { Condition } from './condition.tsx';
import { type Draft, previewOf, type Variant } from './draft.ts';
import { errorAt } from './errors.ts';
import { Message } from './message.tsx';
import { MissingVariables } from './missing.tsx';
import { Previews } from './previews.tsx';
import { Reader } from './reader.tsx';
import { Recipients } from './recipients.tsx';
import { fillIn, withExample } from './sample-gaps.ts';
import { SendTest } from './send-test.tsx';
import { Sending } from './sending.tsx';
import type { UsableChannel } from './use-channels.ts';
import { useDraft } from './use-draft.ts';
import { scopeOf, usePreview } from './use-preview.ts';
import { Versions } from './versions.tsx';

interface DesignerProps {
  path: EventPath;
  loaded: Tagged<Notification> | undefined;
  channels: UsableChannel[];
  /** What a new one begins with. */
  start: Partial<Draft>;
  /** Came from the checklist, and goes back to it. */
  isWelcome: boolean;
}

/** Those that are worth seeing, whether or not a channel of the type exists. */
const shownTypes = ['email', 'sms', 'slack', 'teams', 'webpush', 'inbox', 'webhook'];
const icon = { size: 14, stroke: 1.6 };

export function Designer({ path, loaded, channels, start, isWelcome }: DesignerProps) {
  const { org, prj, app, evt } = path;
  const sample = useSample(path);
  const drafting = useDraft(path, loaded, { channels: channels.slice(0, 1).map(({ slug }) => slug), ...start });
  const { draft, change, stored, isDirty, errors } = drafting;
  const [variant, setVariant] = useState<Variant>({ channel: '', locale: '' });
  const [everyType, setEveryType] = useState(false);
  const [reader, setReader] = useState<string>();
  const [dialog, setDialog] = useState<'test' | 'versions'>();
  const layouts = useLayouts(org, prj);
  const context = sample.context ?? {};
  const types = everyType ? [...shownTypes, ...media.filter(type => channels.some(one => one.type === type))] : [];
  const wanted = [...new Set([...(draft.steps?.flatMap(step => step.channels) ?? draft.channels), ...types])];
  const { preview, error, mistakes, working } = usePreview(path, {
    ...previewOf(draft, context),
    ...(wanted.length > 0 && { channels: wanted }),
    ...(reader && { user: reader }),
    ...(variant.locale && { locale: variant.locale }),
  });
  const simulation = useAction({
    run: () =>
      take(api.POST('/api/o/{org}/p/{prj}/a/{app}/e/{evt}/simulate/', { params: { path }, body: { context } })),
  });
  const close = () => setDialog(undefined);
  const scope = scopeOf(path, withExample(sample.example, context), parseObject(draft.extraContext).context ?? {});
  const own = channels.filter(({ slug, type }) => draft.channels.includes(slug) || draft.channels.includes(type));

  return (
    <EditorPage
      noun="notification"
      name={stored?.name}
      documentTitle={`${stored?.name ?? texts.newNotification} · ${evt}`}
      parents={[
        { label: texts.events, to: to.events(org) },
        { label: prj, to: to.events(org, prj) },
        { label: `${app}/${evt}`, to: to.event(org, prj, app, evt) },
      ]}
      badges={
        stored && (
          <Badge variant="default" tt="none" fw={400}>
            {texts.version(stored.version)}
          </Badge>
        )
      }
      drafting={drafting}
      permission="notification:write"
      isComplete={parseObject(draft.extraContext).mistake === undefined}
      actions={
        <>
          <GuardedButton
            permission="event:trigger"
            variant="default"
            leftSection={<IconEye {...icon} />}
            loading={simulation.isPending}
            onClick={() => simulation.mutate(undefined)}
          >
            {texts.simulate}
          </GuardedButton>
          <GuardedButton
            permission="event:trigger"
            variant="default"
            leftSection={<IconSend {...icon} />}
            onClick={() => setDialog('test')}
          >
            {texts.sendTest}
          </GuardedButton>
        </>
      }
      showHistory={() => setDialog('versions')}
      pageOf={id => (isWelcome ? to.overview(org) : to.notification(org, prj, app, evt, id))}
      parentPage={to.event(org, prj, app, evt)}
      remove={({ dryRun }) =>
        take(
          api.DELETE('/api/o/{org}/p/{prj}/a/{app}/e/{evt}/n/{notification}/', {
            params: { path: { ...path, notification: stored!.id }, query: dryRun ? { dry_run: true } : {} },
          }),
        )
      }
      removeNote={texts.messagesThatWereAlreadySentStay}
      organization={org}
      preview={
        <Previews
          preview={preview}
          error={error}
          working={working}
          everyType={everyType}
          setEveryType={setEveryType}
          locale={variant.locale}
          addToSample={names => sample.setText(format(fillIn(context, names)))}
          reader={<Reader value={reader} onChange={setReader} usual={preview?.user} />}
        />
      }
    >
      <TextInput
        label={texts.name}
        value={draft.name}
        onChange={event => change({ name: event.currentTarget.value })}
        placeholder="receipt"
        maxLength={255}
        error={errorAt(errors, 'name')}
      />
      <Recipients path={path} draft={draft} change={change} errors={errors} matches={preview?.users} />
      <Sending path={path} draft={draft} change={change} errors={errors} channels={channels} preview={preview} />
      {stored && <MissingVariables missing={stored.missing_variables} />}
      <Message
        draft={draft}
        change={change}
        errors={errors}
        mistakes={mistakes}
        scope={scope}
        channels={channels}
        layouts={layouts.names}
        variant={variant}
        setVariant={setVariant}
      />
      <Condition path={path} sample={sample} draft={draft} change={change} errors={errors} result={preview?.filter} />
      <Simulated simulation={simulation.data} only={stored?.name} isDirty={isDirty} close={simulation.reset} />
      {stored && dialog === 'test' && (
        <SendTest
          path={path}
          notification={stored.id}
          channels={[...own, ...channels.filter(channel => !own.includes(channel))]}
          context={context}
          user={reader}
          isDirty={isDirty}
          close={close}
        />
      )}
      {stored && dialog === 'versions' && (
        <Versions
          path={path}
          notification={stored.id}
          draft={draft}
          close={close}
          restore={({ version, message, overrides }) => {
            change({ message, overrides: overrides ?? {} });
            setVariant({ channel: '', locale: '' });
            tellSuccess(texts.versionIsInTheEditorSave(version));
          }}
        />
      )}
    </EditorPage>
  );
}

interface SimulatedProps {
  simulation: Simulation | undefined;
  only: string | undefined;
  isDirty: boolean;
  close: () => void;
}

function Simulated({ simulation, only, isDirty, close }: SimulatedProps) {
  return (
    <Modal
      opened={simulation !== undefined}
      onClose={close}
      size="lg"
      title={isDirty ? texts.simulationOfTheLastSavedVersion : texts.simulation}
    >
      {simulation && <SimulationView simulation={simulation} only={only} />}
    </Modal>
  );
}
