/**
 * Creates a channel in three steps: type, provider, settings. The first two are kept in the URL, so that the back
 * button works.
 */
import { Box, Button, Group, Select, SimpleGrid, Stack, Text, TextInput, UnstyledButton } from '@mantine/core';
import { useNavigate, useSearchParams } from 'react-router';
import type { NewChannel as NewChannelBody, ProviderKind } from '../../api-types.ts';
import { channelTypes, getChannelType } from '../../channel-types.ts';
import { GuardedButton } from '../../components/actions.tsx';
import { useApiForm } from '../../components/api-form.tsx';
import { FormFailure } from '../../components/form.tsx';
import { Page, Section } from '../../components/page.tsx';
import { slugFrom } from '../../components/slug.ts';
import { Failure, Loading } from '../../components/states.tsx';
import { useProjects } from '../../components/switchers.tsx';
import { to, useOrg, useProject } from '../../paths.ts';
import { useOrganization, useSession } from '../../session.tsx';
import { texts } from '../../texts/channels.ts';
import { createChannel, useProviderKinds } from './channel-api.ts';
import { ChannelFields, newDraft, toChannelFields } from './channel-form.tsx';
import { draftOf, kindsFor, missingSettings, titleOf } from './provider-list.tsx';

export default function NewChannel() {
  const org = useOrg();
  const [project] = useProject();
  const [params, setParams] = useSearchParams();
  const kinds = useProviderKinds();
  const type = params.get('type') ?? undefined;
  const use = params.get('use') ?? undefined;
  const isWelcome = params.has('welcome');
  const parents = [{ label: texts.channels, to: to.channels(org, project) }];
  const choose = (next: Record<string, string>) =>
    setParams({ ...next, ...(isWelcome && { welcome: '' }) }, { preventScrollReset: true });

  return (
    <Page title={texts.newChannel} parents={parents}>
      {kinds.isPending && <Loading />}
      {kinds.error && <Failure error={kinds.error} retry={() => void kinds.refetch()} />}
      {kinds.data && (
        <Stack maw={1080}>
          {type ? (
            <CompletedStep label={texts.type} value={getChannelType(type).name} change={() => choose({})} />
          ) : (
            <Section title={texts.stepType}>
              <Types kinds={kinds.data} choose={medium => choose({ type: medium })} />
            </Section>
          )}
          {type && use && (
            <CompletedStep label={texts.provider} value={titleOf(kinds.data, use)} change={() => choose({ type })} />
          )}
          {type && !use && (
            <Section title={texts.stepProvider}>
              <Cards label={texts.provider}>
                {kindsFor(kinds.data, type).map(({ name, title, summary }) => (
                  <Choice key={name} title={title} summary={summary} choose={() => choose({ type, use: name })} />
                ))}
              </Cards>
            </Section>
          )}
          {type && use && (
            <Section title={texts.stepSettings}>
              <Form key={`${type} ${use}`} kinds={kinds.data} type={type} use={use} isWelcome={isWelcome} />
            </Section>
          )}
        </Stack>
      )}
    </Page>
  );
}

/** A completed step on one line. */
function CompletedStep({ label, value, change }: { label: string; value: string; change: () => void }) {
  return (
    <Group className="card" px="md" py={6} justify="space-between">
      <Group gap="sm">
        <Text size="sm" c="dimmed">
          {label}
        </Text>
        <Text size="sm" fw={600}>
          {value}
        </Text>
      </Group>
      <Button variant="subtle" onClick={change} aria-label={texts.changeItem(label.toLowerCase())}>
        {texts.change}
      </Button>
    </Group>
  );
}

function Types({ kinds, choose }: { kinds: ProviderKind[]; choose: (medium: string) => void }) {
  const served = new Set(kinds.map(({ medium }) => medium));
  // Types that only the sandbox supports come last.
  const types = Object.keys(channelTypes).sort((a, b) => Number(served.has(b)) - Number(served.has(a)));
  return (
    <Cards label={texts.type}>
      {types.map(medium => {
        const { name, icon: Icon, summary } = getChannelType(medium);
        return (
          <Choice
            key={medium}
            icon={<Icon size={20} stroke={1.6} />}
            title={name}
            summary={served.has(medium) ? summary : texts.sandboxOnlyForNow}
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

interface ChoiceProps {
  icon?: React.ReactNode;
  title: string;
  summary: string;
  choose: () => void;
}

function Choice({ icon, title, summary, choose }: ChoiceProps) {
  return (
    <UnstyledButton className="card choice" p="sm" onClick={choose}>
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

interface FormProps {
  kinds: ProviderKind[];
  type: string;
  use: string;
  /** Opened from the checklist, and returns to it. */
  isWelcome: boolean;
}

function Form({ kinds, type, use, isWelcome }: FormProps) {
  const org = useOrg();
  const [project] = useProject();
  const navigate = useNavigate();
  const { data: projects = [] } = useProjects();
  const { account } = useSession();
  const organization = useOrganization()?.name ?? org;
  const hasSender = kinds.some(kind => kind.name === use && 'from' in ((kind.settings.properties ?? {}) as object));
  const sender = type === 'email' && hasSender ? { from: `${organization} <${account.email}>` } : {};
  const creating = useApiForm({
    initialValues: {
      project: project ?? '',
      slug: '',
      ...newDraft(getChannelType(type).name, draftOf(use, sender)),
    },
    validate: ({ name, providers }) => ({
      ...(name.trim() === '' && { name: texts.enterAName }),
      ...missingSettings(kinds, providers),
    }),
    run: ({ project: prj, slug, ...draft }) => {
      const own = Object.entries(toChannelFields(type, draft)).filter(([, value]) => value !== null);
      return createChannel({ org, prj: prj || undefined }, {
        ...Object.fromEntries(own),
        slug: slug || slugFrom(draft.name),
        type,
      } as NewChannelBody);
    },
    done: ({ name }) => texts.createdTheChannel(name),
    refresh: ['/api/o/{org}/'],
    onDone: created => {
      const prj = creating.form.values.project || undefined;
      void navigate(isWelcome ? to.overview(org) : `${to.channel(org, created.slug, prj)}?test`);
    },
  });
  const { form, action } = creating;
  return (
    <form noValidate onSubmit={creating.submit}>
      <Stack>
        <ChannelFields
          kinds={kinds}
          type={type}
          draft={form.values}
          onChange={form.setValues}
          errors={form.errors}
          slug={
            <>
              <TextInput
                label={texts.slug}
                description={texts.slugHint}
                placeholder={slugFrom(form.values.name) || 'main-mail'}
                {...form.getInputProps('slug')}
              />
              <Select
                label={texts.belongsTo}
                description={texts.belongsToHint}
                data={[
                  { value: '', label: texts.organization },
                  ...projects.map(({ slug: value, name }) => ({ value, label: texts.projectNamed(name) })),
                ]}
                allowDeselect={false}
                {...form.getInputProps('project')}
              />
            </>
          }
        />
        <FormFailure error={action.error} shown={Object.keys(form.values)} />
      </Stack>
      <Group className="stickybar" justify="flex-end" gap="xs">
        <Button variant="default" onClick={() => navigate(isWelcome ? to.overview(org) : to.channels(org, project))}>
          {texts.cancel}
        </Button>
        <GuardedButton permission="channel:write" type="submit" loading={action.isPending}>
          {texts.createChannel}
        </GuardedButton>
      </Group>
    </form>
  );
}
