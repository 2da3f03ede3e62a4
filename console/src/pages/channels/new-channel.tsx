/** A new channel: the medium, then who sends, then how. The first two stand in the address, so that back goes back. */
import { Box, Button, Group, Select, SimpleGrid, Stack, Text, TextInput, UnstyledButton } from '@mantine/core';
import { useState } from 'react';
import { useNavigate, useSearchParams } from 'react-router';
import type { ProviderKind } from '../../api-types.ts';
import { GuardedButton, useAction } from '../../components/actions.tsx';
import { FormButtons, FormFailure, fieldErrors, slugFrom } from '../../components/form.tsx';
import { Page, Section } from '../../components/page.tsx';
import { Failure, Waiting } from '../../components/states.tsx';
import { useProjects } from '../../components/switchers.tsx';
import { to, useOrg, useProject } from '../../places.ts';
import { channelKey, createChannel, useProviderKinds } from './channel-api.ts';
import { type ChannelDraft, ChannelFields, channelFields, providersOf } from './channel-form.tsx';
import { lookOfMedium, mediumLooks } from './media.ts';
import { draftOf, kindsFor } from './provider-list.tsx';

export default function NewChannel() {
  const org = useOrg();
  const [project] = useProject();
  const [params, setParams] = useSearchParams();
  const kinds = useProviderKinds();
  const type = params.get('type') ?? undefined;
  const use = params.get('use') ?? undefined;
  const parents = [{ label: 'Channels', to: to.channels(org, project) }];
  const choose = (next: Record<string, string>) => setParams(next, { preventScrollReset: true });

  return (
    <Page title="New channel" parents={parents}>
      {kinds.isPending && <Waiting />}
      {kinds.error && <Failure error={kinds.error} retry={() => void kinds.refetch()} />}
      {kinds.data && (
        <Stack maw={860}>
          <Section title="1. What does it send?">
            <Media kinds={kinds.data} chosen={type} choose={medium => choose({ type: medium })} />
          </Section>
          {type && (
            <Section title="2. Who sends it?">
              <Cards label="Provider">
                {kindsFor(kinds.data, type).map(({ name, summary }) => (
                  <Choice
                    key={name}
                    title={name}
                    summary={summary}
                    chosen={use === name}
                    choose={() => choose({ type, use: name })}
                  />
                ))}
              </Cards>
            </Section>
          )}
          {type && use && (
            <Section title="3. How?">
              <Form key={`${type} ${use}`} kinds={kinds.data} type={type} use={use} />
            </Section>
          )}
        </Stack>
      )}
    </Page>
  );
}

function Media({
  kinds,
  chosen,
  choose,
}: {
  kinds: ProviderKind[];
  chosen: string | undefined;
  choose: (medium: string) => void;
}) {
  const served = new Set(kinds.map(({ medium }) => medium));
  // Those that only the sandbox serves come last.
  const media = Object.keys(mediumLooks).sort((a, b) => Number(served.has(b)) - Number(served.has(a)));
  return (
    <Cards label="Medium">
      {media.map(medium => {
        const { name, icon: Icon, summary } = lookOfMedium(medium);
        return (
          <Choice
            key={medium}
            icon={<Icon size={20} stroke={1.6} />}
            title={name}
            summary={served.has(medium) ? summary : 'The sandbox only, so far'}
            chosen={medium === chosen}
            choose={() => choose(medium)}
          />
        );
      })}
    </Cards>
  );
}

function Cards({ label, children }: { label: string; children: React.ReactNode }) {
  return (
    <SimpleGrid cols={{ base: 1, xs: 2, sm: 3 }} spacing="xs" role="group" aria-label={label}>
      {children}
    </SimpleGrid>
  );
}

function Choice({
  icon,
  title,
  summary,
  chosen,
  choose,
}: {
  icon?: React.ReactNode;
  title: string;
  summary: string;
  chosen: boolean;
  choose: () => void;
}) {
  return (
    <UnstyledButton className="card choice" p="sm" onClick={choose} aria-pressed={chosen}>
      <Group gap="sm" wrap="nowrap" align="flex-start">
        {icon && (
          <Box c="var(--accent)" lh={0} aria-hidden>
            {icon}
          </Box>
        )}
        <div>
          <Text size="sm" fw={600}>
            {title}
          </Text>
          <Text size="xs" c="dimmed" style={{ overflowWrap: 'anywhere' }}>
            {summary}
          </Text>
        </div>
      </Group>
    </UnstyledButton>
  );
}

function Form({ kinds, type, use }: { kinds: ProviderKind[]; type: string; use: string }) {
  const org = useOrg();
  const [project] = useProject();
  const navigate = useNavigate();
  const { data: projects = [] } = useProjects();
  const [prj, setPrj] = useState(project ?? '');
  const [slug, setSlug] = useState('');
  const [draft, setDraft] = useState<ChannelDraft>(() => ({
    name: '',
    on_unknown: 'resend',
    rate_per_second: null,
    concurrency: null,
    providers: [draftOf(use)],
  }));
  const place = { org, prj: prj || undefined };
  const create = useAction({
    run: () => {
      const { name, on_unknown, rate_per_second, concurrency } = draft;
      return createChannel(place, {
        slug: slug || slugFrom(name),
        name,
        type: type as 'email',
        on_unknown,
        ...(rate_per_second !== null && { rate_per_second }),
        ...(concurrency !== null && { concurrency }),
        providers: providersOf(draft),
      });
    },
    done: ({ name }) => `Created the channel ${name}. Send a test through it.`,
    refresh: [channelKey(place)],
    onDone: made => void navigate(`${to.channel(org, made.slug, place.prj)}?test`),
    quiet: true,
  });
  const errors = fieldErrors(create.error);
  return (
    <form
      noValidate
      onSubmit={event => {
        event.preventDefault();
        create.mutate(undefined);
      }}
    >
      <Stack>
        <Select
          label="Belongs to"
          description="A channel of the organization can be used in every project."
          data={[
            { value: '', label: 'The organization' },
            ...projects.map(({ slug: value, name }) => ({ value, label: `Project ${name}` })),
          ]}
          value={prj}
          onChange={chosen => setPrj(chosen ?? '')}
          allowDeselect={false}
          maw={420}
        />
        <ChannelFields
          kinds={kinds}
          type={type}
          draft={draft}
          onChange={part => setDraft({ ...draft, ...part })}
          errors={errors}
          slug={
            <TextInput
              label="Slug"
              placeholder={slugFrom(draft.name) || 'main-mail'}
              value={slug}
              error={errors.slug}
              onChange={event => setSlug(event.currentTarget.value)}
            />
          }
        />
        <FormFailure error={create.error} shown={channelFields} />
        <FormButtons>
          <Button variant="default" onClick={() => navigate(to.channels(org, project))}>
            Cancel
          </Button>
          <GuardedButton permission="channel:write" type="submit" loading={create.isPending}>
            Create channel
          </GuardedButton>
        </FormButtons>
      </Stack>
    </form>
  );
}
