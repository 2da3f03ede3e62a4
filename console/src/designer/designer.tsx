/** The notification designer: recipients, channels, message and filter, with live previews. */
import { Badge, Modal, TextInput } from '@mantine/core';
import { IconEye, IconSend } from '@tabler/icons-react';
import { useState } from 'react';
import { api, take } from '../api.ts';
import { media, type Notification, type Simulation } from '../api-types.ts';
import { GuardedButton, useAction, useUndo } from '../components/actions.tsx';
import { EditorPage } from '../editor/editor-page.tsx';
import type { TaggedResource } from '../editor/use-tagged-draft.ts';
import { type EventPath, format, parseObject, useSample } from '../events/sample.ts';
import { SimulationView } from '../events/simulation-view.tsx';
import { limitsOf } from '../form-fields.ts';
import { useLayouts } from '../layouts/use-layouts.ts';
import { to } from '../paths.ts';
import { texts } from '../texts/designer.ts';
import { Condition } from './condition.tsx';
import { DeliverySettings } from './delivery.tsx';
import { type Draft, previewOf, type Variant } from './draft.ts';
import { errorAt } from './errors.ts';
import { addMissingVariables, withExample } from './fill-sample.ts';
import { Message } from './message.tsx';
import { MissingVariables } from './missing-variables.tsx';
import { PreviewUser } from './preview-user.tsx';
import { Previews } from './previews.tsx';
import { Recipients } from './recipients.tsx';
import { SendTest } from './send-test.tsx';
import { useSchedules } from './step-audience.ts';
import type { UsableChannel } from './use-channels.ts';
import { useDraft } from './use-draft.ts';
import { scopeOf, usePreview } from './use-preview.ts';
import { Versions } from './versions.tsx';

interface DesignerProps {
  path: EventPath;
  loaded: TaggedResource<Notification> | undefined;
  channels: UsableChannel[];
  /** Initial values of a new notification. */
  start: Partial<Draft>;
  /** Opened from the checklist, and returns to it. */
  isWelcome: boolean;
}

/** Channel types worth previewing, even if the organization has no such channel. */
const shownTypes = ['email', 'sms', 'slack', 'teams', 'webpush', 'inbox', 'webhook'];
const icon = { size: 14, stroke: 1.6 };

export function Designer({ path, loaded, channels, start, isWelcome }: DesignerProps) {
  const { org, prj, app, evt } = path;
  const sample = useSample(path);
  const drafting = useDraft(path, loaded, { channels: channels.slice(0, 1).map(({ slug }) => slug), ...start });
  const { draft, change, stored, isDirty, errors } = drafting;
  const [variant, setVariant] = useState<Variant>({ channel: '', locale: '' });
  const [everyType, setEveryType] = useState(false);
  const [previewUser, setPreviewUser] = useState<string>();
  const [dialog, setDialog] = useState<'test' | 'versions'>();
  const layouts = useLayouts(org, prj);
  const context = sample.context ?? {};
  const types = everyType ? [...shownTypes, ...media.filter(type => channels.some(one => one.type === type))] : [];
  const previewChannels = [...new Set([...(draft.steps?.flatMap(step => step.channels) ?? draft.channels), ...types])];
  const { preview, error, sourceErrors, working } = usePreview(path, {
    ...previewOf(draft, context),
    ...(previewChannels.length > 0 && { channels: previewChannels }),
    ...(previewUser && { user: previewUser }),
    ...(variant.locale && { locale: variant.locale }),
  });
  const simulation = useAction({
    run: () =>
      take(api.POST('/api/o/{org}/p/{prj}/a/{app}/e/{evt}/simulate/', { params: { path }, body: { context } })),
  });
  const offerUndo = useUndo();
  const close = () => setDialog(undefined);
  const schedules = useSchedules(path);
  const extraContext = parseObject(draft.extraContext).context ?? {};
  const scope = scopeOf(path, withExample(sample.example, context), extraContext, schedules);
  const ownChannels = channels.filter(
    ({ slug, type }) => draft.channels.includes(slug) || draft.channels.includes(type),
  );

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
      isComplete={parseObject(draft.extraContext).problem === undefined}
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
      removeNote={texts.deletionHint}
      preview={
        <Previews
          preview={preview}
          error={error}
          working={working}
          everyType={everyType}
          setEveryType={setEveryType}
          locale={variant.locale}
          addToSample={names => sample.setText(format(addMissingVariables(context, names)))}
          userSelect={<PreviewUser value={previewUser} onChange={setPreviewUser} defaultUser={preview?.user} />}
        />
      }
    >
      <TextInput
        label={texts.name}
        value={draft.name}
        onChange={event => change({ name: event.currentTarget.value })}
        placeholder="receipt"
        {...limitsOf('NewNotification', 'name')}
        error={errorAt(errors, 'name')}
      />
      <Recipients path={path} draft={draft} change={change} errors={errors} matches={preview?.users} />
      <DeliverySettings
        path={path}
        draft={draft}
        change={change}
        errors={errors}
        channels={channels}
        preview={preview}
      />
      {stored && <MissingVariables missing={stored.missing_variables} />}
      <Message
        draft={draft}
        change={change}
        errors={errors}
        sourceErrors={sourceErrors}
        scope={scope}
        channels={channels}
        layouts={layouts.names}
        variant={variant}
        setVariant={setVariant}
      />
      <Condition path={path} sample={sample} draft={draft} change={change} errors={errors} result={preview?.filter} />
      <SimulationDialog simulation={simulation.data} only={stored?.name} isDirty={isDirty} close={simulation.reset} />
      {stored && dialog === 'test' && (
        <SendTest
          path={path}
          notification={stored.id}
          channels={[...ownChannels, ...channels.filter(channel => !ownChannels.includes(channel))]}
          context={context}
          user={previewUser}
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
            offerUndo(texts.versionRestored(version), () =>
              change({ message: draft.message, overrides: draft.overrides }),
            );
          }}
        />
      )}
    </EditorPage>
  );
}

interface SimulationDialogProps {
  simulation: Simulation | undefined;
  only: string | undefined;
  isDirty: boolean;
  close: () => void;
}

function SimulationDialog({ simulation, only, isDirty, close }: SimulationDialogProps) {
  return (
    <Modal
      opened={simulation !== undefined}
      onClose={close}
      size="lg"
      title={isDirty ? texts.simulationOfSavedVersion : texts.simulation}
    >
      {simulation && <SimulationView simulation={simulation} only={only} />}
    </Modal>
  );
}
