# One image a service:    docker build --build-arg SERVICE=gateway -t purple-agent-gateway .
# The whole stack:        docker build -t purple-agent .   and   docker run -p 9010:9010 purple-agent
# SERVICE is gateway, executor, policy, learner, planner, simulator, assessor, company or all (the default).
ARG SERVICE=all
ARG PYTHON=python:3.12-slim

# --- what the service needs from others, pinned by hash; the compiler stays in this stage
FROM ${PYTHON} AS dependencies
ARG SERVICE
COPY locks/${SERVICE}.txt /lock.txt
RUN python -m venv /venv \
    && /venv/bin/pip install --no-cache-dir --disable-pip-version-check --require-hashes --no-deps -r /lock.txt

# --- what every image shares: the environment, the unprivileged user (by number: Kubernetes checks it), the health check
FROM ${PYTHON} AS runtime
RUN groupadd --gid 10001 agentbeats \
    && useradd --uid 10001 --gid 10001 --no-create-home --home-dir /data --shell /usr/sbin/nologin agentbeats \
    && install --directory --owner=agentbeats --group=agentbeats /data
ENV PATH=/venv/bin:$PATH PYTHONPATH=/app PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 HOST=0.0.0.0
WORKDIR /app
COPY --from=dependencies /venv /venv
COPY LICENSE ./
COPY shared/ shared/
HEALTHCHECK --interval=10s --timeout=5s --start-period=20s --retries=3 CMD ["python", "-c", "import http.client, os, sys; c = http.client.HTTPConnection('127.0.0.1', int(os.environ['PORT']), timeout=3); c.request('GET', '/health'); sys.exit(c.getresponse().status != 200)"]
STOPSIGNAL SIGTERM

# --- one stage a service
FROM runtime AS gateway
COPY services/__init__.py services/
COPY services/gateway/ services/gateway/
ENV PORT=9010
EXPOSE 9010
USER 10001:10001
CMD ["python", "-m", "services.gateway"]

FROM runtime AS executor
COPY services/__init__.py services/
COPY services/executor/ services/executor/
ENV PORT=9011
EXPOSE 9011
USER 10001:10001
CMD ["python", "-m", "services.executor"]

FROM runtime AS policy
COPY services/__init__.py services/
COPY services/policy/ services/policy/
ENV PORT=9020
EXPOSE 9020
USER 10001:10001
CMD ["python", "-m", "services.policy"]

FROM runtime AS learner
COPY services/__init__.py services/
COPY services/learner/ services/learner/
ENV PORT=9030
EXPOSE 9030
USER 10001:10001
CMD ["python", "-m", "services.learner"]

FROM runtime AS planner
COPY services/__init__.py services/
COPY services/planner/ services/planner/
ENV PORT=9040
EXPOSE 9040
USER 10001:10001
CMD ["python", "-m", "services.planner"]

FROM runtime AS simulator
COPY services/__init__.py services/
COPY services/simulator/ services/simulator/
ENV PORT=9050
EXPOSE 9050
USER 10001:10001
CMD ["python", "-m", "services.simulator"]

# With the simulator: each assessment gets a process of it, unless SIMULATOR_URL names one that runs.
FROM runtime AS assessor
COPY services/__init__.py services/
COPY services/simulator/ services/simulator/
COPY services/assessor/ services/assessor/
ENV PORT=9060
EXPOSE 9060
USER 10001:10001
CMD ["python", "-m", "services.assessor"]

FROM runtime AS company
COPY examples/__init__.py examples/
COPY examples/company/ examples/company/
ENV PORT=9009
EXPOSE 9009
VOLUME /data
USER 10001:10001
CMD ["python", "-m", "examples.company"]

# The launcher with every default: embedded Redis, rule-based planner and example company unless the environment names others.
FROM runtime AS all
COPY services/ services/
COPY cli/ cli/
COPY examples/ examples/
RUN printf '#!/venv/bin/python\nfrom cli.main import app\n\napp()\n' > /venv/bin/purple && chmod 755 /venv/bin/purple
ENV PORT=9010
EXPOSE 9010
VOLUME /data
USER 10001:10001
ENTRYPOINT ["purple"]
CMD ["up", "--host", "0.0.0.0", "--port", "9010", "--dir", "/data"]

# --- the one that was asked for
FROM ${SERVICE}
LABEL org.opencontainers.image.title="Purple Agent" org.opencontainers.image.licenses="Apache-2.0"
