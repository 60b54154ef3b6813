# One image a service:    docker build --build-arg SERVICE=gateway -t purple-agent-gateway .
# The whole stack:        docker build -t purple-agent .   and   docker run -p 127.0.0.1:9010:9010 -e ALLOW_OPEN=yes purple-agent
# SERVICE is gateway, executor, policy, learner, planner, simulator, assessor, company or all (the default).
#
# Two builds of the same files on the same base make the same layers: what is compiled names its source by content,
# and times, modes and owners are set here. `make images` builds all of them, labelled with version and revision.
ARG SERVICE=all
# A tag moves. For a build that can be repeated name a digest: --build-arg PYTHON=python:3.14-slim@sha256:...
ARG PYTHON=python:3.14-slim

# --- what the service needs from others, pinned by hash; neither compiler nor pip leaves this stage
FROM ${PYTHON} AS dependencies
ARG SERVICE
ARG SOURCE_DATE_EPOCH=0
COPY locks/${SERVICE}.txt /lock.txt
RUN python -m venv --without-pip /venv \
    && pip --python /venv install --no-cache-dir --no-compile --disable-pip-version-check --require-hashes --no-deps -r /lock.txt
# Of the services of AWS only those that are called, by us or by boto3 to sign in, keep their descriptions: 17 MB less.
RUN find /venv -path "*/site-packages/botocore/data/*" -prune -type d \
    ! -name s3 ! -name secretsmanager ! -name "sso*" ! -name sts ! -name signin -exec rm -r {} +
# Compiled here, since a container cannot write what it compiles; by content, since times differ from build to build.
# What is copied from its parent folder keeps the time of the folder itself, too.
RUN PYTHONHASHSEED=0 python -m compileall -q --invalidation-mode unchecked-hash /venv/lib \
    && find /venv -exec touch --no-dereference --date=@${SOURCE_DATE_EPOCH} {} + \
    && mkdir /made && mv /venv /made/

# --- what each image holds of this repository, besides shared
FROM scratch AS gateway-files
COPY services/__init__.py services/
COPY services/gateway/ services/gateway/

FROM scratch AS executor-files
COPY services/__init__.py services/
COPY services/executor/ services/executor/

FROM scratch AS policy-files
COPY services/__init__.py services/
COPY services/policy/ services/policy/

FROM scratch AS learner-files
COPY services/__init__.py services/
COPY services/learner/ services/learner/

FROM scratch AS planner-files
COPY services/__init__.py services/
COPY services/planner/ services/planner/

FROM scratch AS simulator-files
COPY services/__init__.py services/
COPY services/simulator/ services/simulator/

# With the simulator: assessments get worlds in a process of it, unless SIMULATOR_URL names one that runs.
FROM scratch AS assessor-files
COPY services/__init__.py services/
COPY services/simulator/ services/simulator/
COPY services/assessor/ services/assessor/

FROM scratch AS company-files
COPY examples/__init__.py examples/
COPY examples/company/ examples/company/

FROM scratch AS all-files
COPY services/ services/
COPY cli/ cli/
COPY examples/ examples/

# --- the files of the one that was asked for, compiled, since nothing in a container can write what it compiles
FROM ${SERVICE}-files AS files

FROM ${PYTHON} AS laid-out
ARG SOURCE_DATE_EPOCH=0
COPY LICENSE /made/app/
COPY pyproject.toml /made/app/
COPY shared/ /made/app/shared/
COPY --from=files / /made/app/
WORKDIR /made
RUN if [ -d app/cli ]; then \
        mkdir app/bin && printf '#!/venv/bin/python\nfrom cli.main import app\n\napp()\n' > app/bin/purple && chmod 755 app/bin/purple; \
    fi \
    && chmod -R u=rwX,go=rX app \
    && PYTHONHASHSEED=0 python -m compileall -q --invalidation-mode unchecked-hash -s /made -p / app \
    && find app -exec touch --date=@${SOURCE_DATE_EPOCH} {} +

# --- what every image shares: the environment, the unprivileged user (by number: Kubernetes checks it), the health check
FROM ${PYTHON} AS runtime
ARG SOURCE_DATE_EPOCH=0
RUN echo "agentbeats:x:10001:" >> /etc/group \
    && echo "agentbeats:x:10001:10001::/data:/usr/sbin/nologin" >> /etc/passwd \
    && install --directory --owner=10001 --group=10001 /data \
    && touch --date=@${SOURCE_DATE_EPOCH} /etc/group /etc/passwd /etc /data
ENV PATH=/venv/bin:/app/bin:$PATH PYTHONPATH=/app PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 HOST=0.0.0.0
COPY --from=dependencies /made/ /
HEALTHCHECK --interval=10s --timeout=5s --start-period=20s --retries=3 CMD ["python", "-c", "import http.client, os, sys; c = http.client.HTTPConnection('127.0.0.1', int(os.environ['PORT']), timeout=3); c.request('GET', '/health'); sys.exit(c.getresponse().status != 200)"]
STOPSIGNAL SIGTERM

# --- how each of them runs
FROM runtime AS gateway
ENV PORT=9010
EXPOSE 9010
CMD ["python", "-m", "services.gateway"]

FROM runtime AS executor
ENV PORT=9011
EXPOSE 9011
CMD ["python", "-m", "services.executor"]

FROM runtime AS policy
ENV PORT=9020
EXPOSE 9020
CMD ["python", "-m", "services.policy"]

FROM runtime AS learner
ENV PORT=9030
EXPOSE 9030
CMD ["python", "-m", "services.learner"]

FROM runtime AS planner
ENV PORT=9040
EXPOSE 9040
CMD ["python", "-m", "services.planner"]

FROM runtime AS simulator
ENV PORT=9050
EXPOSE 9050
CMD ["python", "-m", "services.simulator"]

FROM runtime AS assessor
ENV PORT=9060
EXPOSE 9060
CMD ["python", "-m", "services.assessor"]

FROM runtime AS company
ENV PORT=9009
EXPOSE 9009
VOLUME /data
CMD ["python", "-m", "examples.company"]

# The launcher with every default: embedded Redis, rule-based planner and example company unless the environment names others.
FROM runtime AS all
ENV PORT=9010
EXPOSE 9010
VOLUME /data
ENTRYPOINT ["purple"]
CMD ["up", "--host", "0.0.0.0", "--port", "9010", "--dir", "/data"]

# --- the one that was asked for
FROM ${SERVICE}
ARG SERVICE
ARG PYTHON
ARG VERSION=0.1.0
ARG REVISION=unknown
COPY --from=laid-out /made/ /
WORKDIR /app
USER 10001:10001
LABEL org.opencontainers.image.title="Purple Agent: ${SERVICE}" \
    org.opencontainers.image.description="An AI worker that carries out business processes end to end" \
    org.opencontainers.image.licenses="Apache-2.0" \
    org.opencontainers.image.version="${VERSION}" \
    org.opencontainers.image.revision="${REVISION}" \
    org.opencontainers.image.base.name="${PYTHON}"
