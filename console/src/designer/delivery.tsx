/** Form fields for delivery: channels or steps, priority, throttle, digest, environments. */
import {
  Anchor,
  Chip,
  Collapse,
  Group,
  Input,
  SegmentedControl,
  Select,
  Stack,
  Switch,
  TagsInput,
  Text,
  UnstyledButton,
} from '@mantine/core';
import { IconChevronRight } from '@tabler/icons-react';
import { useState } from 'react';
import { Link } from 'react-router';
import { fill } from '../components/fill.tsx';
import { Section } from '../components/page.tsx';
import { CodeField } from '../editor/code.tsx';
import { parseObject } from '../events/sample.ts';
import { to } from '../paths.ts';
import { texts } from '../texts/designer.ts';
import { CanaryFields } from './canary.tsx';
import { DigestFields } from './digest.tsx';
import type { DraftStep, Priority } from './draft.ts';
import { errorAt } from './errors.ts';
import { explainSending } from './explain-sending.ts';
import { StepsEditor, type StepsProps } from './steps.tsx';
import { ThrottleFields } from './throttle.tsx';

const priorities = [
  { value: 'urgent', label: texts.urgentSentFirst },
  { value: 'normal', label: texts.normal },
  { value: 'bulk', label: texts.bulkSentLast },
];

export function DeliverySettings({ path, draft, change, errors, channels, preview }: StepsProps) {
  const { org } = path;
  const [more, setMore] = useState(draft.environs.length > 0 || draft.extraContext !== '');
  const slugs = channels.map(({ slug }) => slug);
  const kinds = [...new Set(channels.map(({ type }) => type))].filter(type => !slugs.includes(type));
  // A type gets a chip if it covers several channels or is selected already.
  const types = kinds.filter(
    type => channels.filter(one => one.type === type).length > 1 || draft.channels.includes(type),
  );
  const unknown = draft.channels.filter(name => !slugs.includes(name) && !kinds.includes(name));
  const toggle = (names: string[]) => change({ channels: names });
  const problem = errorAt(errors, 'channels', true);
  return (
    <Section
      title={texts.delivery}
      aside={
        <Switch
          label={texts.active}
          labelPosition="left"
          checked={draft.active}
          onChange={event => change({ active: event.currentTarget.checked })}
        />
      }
    >
      <Stack gap="sm">
        <SegmentedControl
          size="xs"
          aria-label={texts.deliveryMode}
          data={[
            { value: 'once', label: texts.allAtOnce },
            { value: 'steps', label: texts.stepByStep },
          ]}
          value={draft.steps ? 'steps' : 'once'}
          onChange={value =>
            change(value === 'steps' ? { steps: firstSteps(draft.channels), digest: null } : { steps: null })
          }
        />
        {draft.steps && (
          <>
            <StepsEditor
              path={path}
              draft={draft}
              change={change}
              errors={errors}
              channels={channels}
              preview={preview}
            />
            <Switch
              label={texts.notifyResolved}
              checked={draft.notifyResolved}
              onChange={event => change({ notifyResolved: event.currentTarget.checked })}
            />
          </>
        )}
        <fieldset className="plain" hidden={draft.steps !== null}>
          <Text component="legend" size="sm" fw={500} mb={6} p={0}>
            {texts.channels}
          </Text>
          <Chip.Group multiple value={draft.channels} onChange={toggle}>
            <Group gap={6}>
              {channels.map(({ slug, name, type, enabled }) => (
                <Chip key={slug} value={slug} size="xs" variant="outline">
                  {name} · {type}
                  {enabled ? '' : ' (off)'}
                </Chip>
              ))}
              {types.map(type => (
                <Chip key={type} value={type} size="xs" variant="outline">
                  {texts.allChannelsOfType(type)}
                </Chip>
              ))}
              {unknown.map(name => (
                <Chip key={name} value={name} size="xs" variant="outline" color="red">
                  {texts.notFound(name)}
                </Chip>
              ))}
            </Group>
          </Chip.Group>
          {channels.length === 0 && (
            <Text size="sm" c="dimmed">
              {fill(texts.noChannelsYet, {
                link: (
                  <Anchor component={Link} to={to.newChannel(org)} inherit underline="always">
                    {texts.createAChannel}
                  </Anchor>
                ),
              })}
            </Text>
          )}
          {problem && <Input.Error mt={6}>{problem}</Input.Error>}
        </fieldset>
        <Select
          label={texts.priority}
          description={texts.priorityHint}
          data={priorities}
          value={draft.priority}
          onChange={value => change({ priority: value as Priority | null })}
          clearable
          clearButtonProps={{ 'aria-label': texts.clearPriority }}
          placeholder={texts.automaticPriority}
          error={errorAt(errors, 'priority')}
        />
        <ThrottleFields draft={draft} change={change} errors={errors} />
        {draft.steps === null && <DigestFields draft={draft} change={change} errors={errors} />}
        {((draft.steps === null && draft.digest === null) || draft.canary) && (
          <CanaryFields draft={draft} change={change} errors={errors} />
        )}
        {explainSending(draft).map(sentence => (
          <Text key={sentence} size="sm" role="status">
            {sentence}
          </Text>
        ))}
        <div>
          <UnstyledButton onClick={() => setMore(!more)} aria-expanded={more}>
            <Group gap={4}>
              <IconChevronRight
                size={14}
                stroke={1.8}
                style={{ transform: more ? 'rotate(90deg)' : undefined }}
                aria-hidden
              />
              <Anchor component="span" size="sm">
                {texts.environmentsAndExtraContext}
              </Anchor>
            </Group>
          </UnstyledButton>
          <Collapse expanded={more} mt="xs">
            <Stack gap="sm">
              <TagsInput
                label={texts.environments}
                description={texts.environmentsHint}
                value={draft.environs}
                onChange={environs => change({ environs })}
                placeholder={draft.environs.length === 0 ? 'production' : ''}
                error={errorAt(errors, 'environs', true)}
              />
              <CodeField
                label={texts.extraContext}
                description={texts.extraContextHint}
                language="json"
                value={draft.extraContext}
                onChange={extraContext => change({ extraContext })}
                placeholder='{ "support": "help@example.com" }'
                error={parseObject(draft.extraContext).problem ?? errorAt(errors, 'extra_context', true)}
              />
            </Stack>
          </Collapse>
        </div>
      </Stack>
    </Section>
  );
}

/** Converts the channels to a first step, followed by a second one unless the first is acknowledged. */
function firstSteps(channels: string[]): DraftStep[] {
  return [
    { after: '', channels, repeat: 1, roundRobin: false },
    { after: '10m', unless: 'acknowledged', channels, repeat: 1, roundRobin: false },
  ];
}
