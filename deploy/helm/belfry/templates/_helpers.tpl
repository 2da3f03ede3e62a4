{{- define "belfry.name" -}}
{{ .Release.Name | trunc 50 | trimSuffix "-" }}
{{- end }}

{{/* Call with (dict "root" $ "component" "api"). */}}
{{- define "belfry.selector" -}}
app.kubernetes.io/name: belfry
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end }}

{{- define "belfry.labels" -}}
{{ include "belfry.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ .root.Chart.Name }}-{{ .root.Chart.Version }}
{{- end }}

{{- define "belfry.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{- define "belfry.environment" -}}
envFrom:
  - secretRef:
      name: {{ required "existingSecret is required: a Secret with DATABASE_URL and BELFRY_SECRET_KEY" .Values.existingSecret }}
env:
  - name: BASE_URL
    value: {{ required "baseUrl is required: the address by which people and programs reach Belfry" .Values.baseUrl | quote }}
  {{- if not (hasKey (.Values.env | default dict) "BELFRY_INSTANCE") }}
  # A clone of the database in another namespace, or under another release, sends nothing until it is resumed.
  - name: BELFRY_INSTANCE
    value: {{ printf "%s/%s" .Release.Namespace .Release.Name | quote }}
  {{- end }}
  {{- with .Values.trustProxy }}
  - name: TRUST_PROXY
    value: {{ . | quote }}
  {{- end }}
  - name: METRICS_HOST
    value: 0.0.0.0
  - name: METRICS_PORT
    value: {{ .Values.metrics.port | quote }}
  {{- range $name, $value := .Values.env }}
  - name: {{ $name }}
    value: {{ $value | quote }}
  {{- end }}
{{- end }}

{{/* The port of BELFRY_SMTP_IN, which is a port or an address and a port. Empty: no listener. */}}
{{- define "belfry.smtpPort" -}}
{{ regexFind "[0-9]+$" (get (.Values.env | default dict) "BELFRY_SMTP_IN") }}
{{- end }}

{{/* The port of each DNS server in BELFRY_DNS_SERVERS that is not asked on port 53, and 53, as JSON. */}}
{{- define "belfry.dnsPorts" -}}
{{- $ports := list "53" }}
{{- range regexFindAll "(\\]|[.][0-9]+):[0-9]+" (get (.Values.env | default dict) "BELFRY_DNS_SERVERS") -1 }}
{{- $ports = append $ports (regexFind "[0-9]+$" .) }}
{{- end }}
{{- $ports | uniq | toJson }}
{{- end }}

{{/* networkPolicy.outboundPorts, and the port of each URL in the settings, as JSON. */}}
{{- define "belfry.outboundPorts" -}}
{{- $env := .Values.env | default dict }}
{{- $defaults := dict "http" "80" "https" "443" "smtp" "587" "smtps" "465" "postgres" "5432" "postgresql" "5432" }}
{{- $ports := list }}
{{- range .Values.networkPolicy.outboundPorts }}
{{- $ports = append $ports (toString .) }}
{{- end }}
{{- range $name := list "DATABASE_URL" "BELFRY_DIRECT_DATABASE_URL" "BELFRY_REPLICA_URL" "BELFRY_OUTBOX_URLS" "BELFRY_MAIL_URL" "OIDC_ISSUER" "OTEL_EXPORTER_OTLP_ENDPOINT" }}
{{- range regexFindAll "[a-z]+://([^@/? ]*@)?(\\[[^] ]*\\]|[^:/?# ]*)(:[0-9]+)?" (get $env $name) -1 }}
{{- $ports = append $ports (regexFind ":[0-9]+$" . | trimPrefix ":" | default (get $defaults (regexFind "^[a-z]+" .))) }}
{{- end }}
{{- end }}
{{- $ports | uniq | toJson }}
{{- end }}

{{- define "belfry.podSecurity" -}}
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
seccompProfile: { type: RuntimeDefault }
{{- end }}

{{- define "belfry.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: { drop: [ALL] }
{{- end }}

{{/* A Deployment of one role. Call with (dict "root" $ "component" "api" "values" .Values.api). */}}
{{- define "belfry.deployment" -}}
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ include "belfry.name" .root }}-{{ .component }}
  labels: {{- include "belfry.labels" . | nindent 4 }}
spec:
  {{- if not (and (eq .component "worker") .root.Values.worker.autoscaling.enabled) }}
  replicas: {{ .values.replicas }}
  {{- end }}
  selector:
    matchLabels: {{- include "belfry.selector" . | nindent 6 }}
  strategy:
    rollingUpdate: { maxUnavailable: 0, maxSurge: 1 }
  template:
    metadata:
      labels: {{- include "belfry.labels" . | nindent 8 }}
      {{- with .root.Values.podAnnotations }}
      annotations: {{- toYaml . | nindent 8 }}
      {{- end }}
    spec:
      serviceAccountName: {{ include "belfry.name" .root }}
      automountServiceAccountToken: false
      enableServiceLinks: false
      # Five seconds to leave the load balancers, plus up to ten seconds to stop.
      terminationGracePeriodSeconds: 30
      securityContext: {{- include "belfry.podSecurity" .root | nindent 8 }}
      {{- with .root.Values.imagePullSecrets }}
      imagePullSecrets: {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with .root.Values.nodeSelector }}
      nodeSelector: {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with .root.Values.tolerations }}
      tolerations: {{- toYaml . | nindent 8 }}
      {{- end }}
      topologySpreadConstraints:
        - maxSkew: 1
          topologyKey: kubernetes.io/hostname
          whenUnsatisfiable: ScheduleAnyway
          labelSelector:
            matchLabels: {{- include "belfry.selector" . | nindent 14 }}
      containers:
        - name: belfry
          image: {{ include "belfry.image" .root | quote }}
          imagePullPolicy: {{ .root.Values.image.pullPolicy }}
          args: [serve, --role, {{ .component }}]
          {{- include "belfry.environment" .root | nindent 10 }}
          ports:
            - { name: http, containerPort: 8000 }
            - { name: metrics, containerPort: {{ .root.Values.metrics.port }} }
            {{- if and (eq .component "api") (include "belfry.smtpPort" .root) }}
            - { name: smtp, containerPort: {{ include "belfry.smtpPort" .root }} }
            {{- end }}
          {{- if eq .component "api" }}
          # Keeps responding until the endpoint has left the load balancers. The image has no shell and no sleep command.
          lifecycle:
            preStop:
              exec: { command: [/nodejs/bin/node, -e, "setTimeout(() => {}, 5000)"] }
          {{- end }}
          # The first start may wait half a minute for the database and then migrate it.
          startupProbe:
            httpGet: { path: /healthz, port: http }
            periodSeconds: 2
            failureThreshold: 90
          livenessProbe:
            httpGet: { path: /healthz, port: http }
            periodSeconds: 10
            timeoutSeconds: 5
            failureThreshold: 6
          readinessProbe:
            httpGet: { path: /readyz, port: http }
            periodSeconds: 5
            timeoutSeconds: 5
            failureThreshold: 3
          resources: {{- toYaml .values.resources | nindent 12 }}
          securityContext: {{- include "belfry.containerSecurity" .root | nindent 12 }}
{{- end }}
