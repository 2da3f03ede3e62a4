/** One source: its address, what it received, and its settings. */
import { Grid, PasswordInput, Select, Stack, Text, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useNavigate, useParams } from 'react-router';
import { api, take } from '../../api.ts';
import type { Source as SourceData } from '../../api-types.ts';
import { AddressActions } from '../../components/address-actions.tsx';
import { ApiForm, useApiForm } from '../../components/api-form.tsx';
import { CopyBlock, CopyText } from '../../components/copy.tsx';
import { JsonEditor, readObject } from '../../components/json-editor.tsx';
import { Page, Section } from '../../components/page.tsx';
import { Pending, pendingPage } from '../../components/pending.tsx';
import { useEditable } from '../../components/use-editable.ts';
import { liveMs } from '../../components/use-list.ts';
import { limitsOf } from '../../form-fields.ts';
import { to, useOrg } from '../../paths.ts';
import { read, readTagged } from '../../queries.ts';
import { useCan, useRefusal } from '../../session.tsx';
import { texts } from '../../texts/sources.ts';
import { Payloads } from './payloads.tsx';
import { Preview } from './preview.tsx';
import { Setup } from './setup.tsx';
import { formats } from './source-format.tsx';
import { SourceUpdates } from './updates.tsx';

function useSourcePath() {
  const { prj = '', app = '', source = '' } = useParams();
  return { org: useOrg(), prj, app, source };
}

export default function Source() {
  const path = useSourcePath();
  const { query, filled, refill } = useEditable(readTagged('/api/o/{org}/p/{prj}/a/{app}/sources/{source}/', { path }));
  const { data } = query;
  const parents = [{ label: texts.sources, to: to.sources(path.org) }];
  if (!data) return pendingPage(path.source, parents, query);
  const { value, etag } = data;
  return (
    <Page
      title={value.name}
      parents={parents}
      description={<CopyText value={path.source} label={texts.copySlug} />}
      actions={<Actions name={value.name} />}
    >
      <Grid>
        <Grid.Col span={{ base: 12, md: 7 }}>
          <Stack gap="md">
            <Payloads path={path} name={value.name} />
            {value.update && <ReportedBack />}
          </Stack>
        </Grid.Col>
        <Grid.Col span={{ base: 12, md: 5 }}>
          <Section title={texts.address}>
            <Address />
          </Section>
        </Grid.Col>
        <Grid.Col span={12}>
          <Section title={texts.settings}>
            <Form key={`${path.source} ${filled}`} source={value} etag={etag} refill={refill} />
          </Section>
        </Grid.Col>
      </Grid>
    </Page>
  );
}

function Address() {
  const path = useSourcePath();
  const mayRead = useCan()('source:write');
  const { data, error, refetch } = useQuery({
    ...read('/api/o/{org}/p/{prj}/a/{app}/sources/{source}/address/', { path }),
    enabled: mayRead,
  });
  if (!mayRead) return <Text size="sm">{texts.addressHidden}</Text>;
  if (!data) return <Pending query={{ error, refetch }} />;
  return (
    <Stack gap="sm">
      <Text size="sm">{texts.addressHint}</Text>
      <CopyBlock value={data.url} label={texts.copyUrl} />
      <CopyBlock value={data.token} label={texts.copyKey} />
      <Text size="sm" c="dimmed">
        {data.has_secret ? texts.hasSecret : texts.hasNoSecret}
      </Text>
      <Setup path={path} />
    </Stack>
  );
}

function ReportedBack() {
  const path = useSourcePath();
  const { data = [] } = useQuery({
    ...read('/api/o/{org}/p/{prj}/a/{app}/sources/{source}/updates/', { path }),
    refetchInterval: ({ state }) => (state.data?.some(({ status }) => status === 'waiting') ? liveMs : false),
  });
  return <SourceUpdates updates={data} />;
}

interface FormProps {
  source: SourceData;
  etag: string | null;
  refill: () => Promise<void>;
}

function Form({ source, etag, refill }: FormProps) {
  const path = useSourcePath();
  const refusal = useRefusal()('source:write');
  const { name, use, routes, mapping, group_by, update } = source;
  const rules = JSON.stringify({ routes, group_by, ...(mapping && { mapping }), ...(update && { update }) }, null, 2);
  const editing = useApiForm({
    initialValues: { name, use: use ?? '', rules, secret: '', update_secret: '' },
    draft: {
      key: `${path.org}/sources/${path.prj}/${path.app}/${path.source}`,
      etag,
      toStored: values => ({ ...values, secret: '', update_secret: '' }),
    },
    validate: values => {
      const parsed = readObject(values.rules);
      return 'error' in parsed ? { rules: parsed.error } : ({} as Record<string, string>);
    },
    run: (values, headers) => {
      const parsed = readObject(values.rules);
      const given = 'value' in parsed ? parsed.value : {};
      const own = { mapping: null, group_by: [], update: null, ...given, name: values.name, use: values.use || null };
      return take(
        api.PATCH('/api/o/{org}/p/{prj}/a/{app}/sources/{source}/', {
          params: { path },
          body: {
            ...own,
            ...(values.secret && { secret: values.secret }),
            ...(values.update_secret && { update_secret: values.update_secret }),
          } as never,
          headers,
        }),
      );
    },
    done: texts.saved,
    refresh: ['/api/o/{org}/sources/', '/api/o/{org}/p/{prj}/a/{app}/sources/'],
    onDone: refill,
  });
  const { form } = editing;
  // Errors name the parts of the rules, which have one field here.
  const wrong = Object.entries(form.errors).find(([field]) =>
    /^(rules|routes|mapping|group_by|update(\/|$))/.test(field),
  );
  const error = wrong && (wrong[0] === 'rules' ? String(wrong[1]) : `${wrong[0]}: ${String(wrong[1])}`);
  const parsed = readObject(form.values.rules);
  // What is reported back has no part in reading a payload.
  const reading = 'value' in parsed ? { ...parsed.value, update: undefined } : undefined;
  const tried = reading && { ...reading, ...(form.values.use && { use: form.values.use }) };
  const fields = (
    <ApiForm of={editing} isLong submit={texts.save} permission="source:write" reload={refill}>
      <TextInput
        label={texts.name}
        {...limitsOf('NewSource', 'name')}
        {...form.getInputProps('name')}
        disabled={refusal !== undefined}
      />
      <Select
        label={texts.format}
        data={formats}
        allowDeselect={false}
        {...form.getInputProps('use')}
        disabled={refusal !== undefined}
      />
      <JsonEditor
        label={texts.rules}
        description={texts.rulesHint}
        value={form.values.rules}
        onChange={text => form.setFieldValue('rules', text)}
        readOnly={refusal !== undefined}
        {...(error && { error })}
      />
      <PasswordInput
        label={texts.secret}
        description={texts.secretHint}
        autoComplete="off"
        {...limitsOf('NewSource', 'secret')}
        {...form.getInputProps('secret')}
        disabled={refusal !== undefined}
      />
      <PasswordInput
        label={texts.updateSecret}
        description={texts.updateSecretHint}
        autoComplete="off"
        {...limitsOf('NewSource', 'update_secret')}
        {...form.getInputProps('update_secret')}
        disabled={refusal !== undefined}
      />
    </ApiForm>
  );
  return (
    <Grid>
      <Grid.Col span={{ base: 12, md: 6 }}>{fields}</Grid.Col>
      <Grid.Col span={{ base: 12, md: 6 }}>
        <Preview path={path} rules={tried} />
      </Grid.Col>
    </Grid>
  );
}

function Actions({ name }: { name: string }) {
  const path = useSourcePath();
  const navigate = useNavigate();
  return (
    <AddressActions
      name={name}
      what={texts.theSource(name)}
      rotate={() => take(api.POST('/api/o/{org}/p/{prj}/a/{app}/sources/{source}/rotate/', { params: { path } }))}
      rotateHint={texts.rotateHint}
      remove={({ dryRun }) =>
        take(
          api.DELETE('/api/o/{org}/p/{prj}/a/{app}/sources/{source}/', {
            params: { path, query: dryRun ? { dry_run: true } : {} },
          }),
        )
      }
      deletionHint={texts.deletionHint}
      refresh={{ own: '/api/o/{org}/p/{prj}/a/{app}/sources/', lists: '/api/o/{org}/sources/' }}
      onDeleted={() => void navigate(to.sources(path.org))}
    />
  );
}
