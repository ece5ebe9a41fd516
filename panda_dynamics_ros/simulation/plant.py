# SPDX-License-Identifier: Apache-2.0
"""The simulated Panda: MuJoCo integrates its motion, and its sensors have the errors of the real arm's.

Between motor and link sits the torque sensor. On the motor's side are rotor inertia, gear friction and damping,
which it does not see; on the link's side the rigid arm, its payload, link friction and pushes:
    u - armature ddq - gear friction = tau = M ddq + C dq + g + link friction - J^T F.
Both frictions follow the way of the joint and stay at rest what they were (`dynamics.presliding_states`).
`tau`, plus a coloured disturbance, vibration and noise, is what `step` measures: Franka's tau_J. It is read on the
motor's side, with MuJoCo's ddq: the rigid arm's part comes from MuJoCo, not from this package's own dynamics.

Every body is compiled with a placeholder and gets its own inertia by `write_body`, as a payload does at run time:
MuJoCo's compiler refuses principal moments that break the triangle inequality (link 2 of `panda_ledezma`, by rounding).
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from panda_dynamics_ros import checks
from panda_dynamics_ros.checks import FloatArray
from panda_dynamics_ros.dynamics.friction import friction_memory_kernel, presliding_step
from panda_dynamics_ros.errors import ArgumentError
from panda_dynamics_ros.robot import InertialParameters, RobotDescription
from panda_dynamics_ros.robot.joint_dataset import JointDataset
from panda_dynamics_ros.robot.joints import PRESLIDING
from panda_dynamics_ros.robot.libfranka_state import StateSample
from panda_dynamics_ros.simulation.motion_search import duration, exciting_motion
from panda_dynamics_ros.simulation.motions import FourierMotion, JointTrajectory
from panda_dynamics_ros.simulation.realism import OrnsteinUhlenbeck, Realism, Sensors, perturbed_arm
from panda_dynamics_ros.untrusted import import_optional

PAYLOAD_BODY = "payload"
TIMESTEP = 1e-3  # s


def mujoco_model(robot: RobotDescription) -> Any:
    """The robot as a `mujoco.MjModel`, its inertias exact to rounding.

    Bodies `link1`.. (1..n), joints with the robot's names, site `flange`, body `payload` without mass; world is base.
    There are no shapes, so that nothing collides; joint limits are not constraints: the controller keeps to them.

    Raises ArgumentError: an inertia is not positive definite.
    Raises MissingDependencyError: MuJoCo is not installed.
    """
    mujoco = import_optional("mujoco", "mujoco")
    spec = mujoco.MjSpec()
    spec.modelname, spec.option.timestep, spec.option.gravity = robot.name, TIMESTEP, robot.gravity
    # Damping explicit: with the implicit one, qacc would not be the acceleration of the step.
    spec.option.disableflags |= mujoco.mjtDisableBit.mjDSBL_EULERDAMP
    body, kinds = spec.worldbody, (mujoco.mjtJoint.mjJNT_HINGE, mujoco.mjtJoint.mjJNT_SLIDE)
    placeholder = {"mass": 1.0, "inertia": (0.01, 0.02, 0.025), "explicitinertial": True}
    for i, (name, T) in enumerate(zip(robot.joint_names, robot.placements, strict=True)):
        body = body.add_body(name=f"link{i + 1}", pos=T[:3, 3], quat=_quaternion(T[:3, :3]), **placeholder)
        body.add_joint(name=name, type=kinds[robot.prismatic[i]], axis=(0.0, 0.0, 1.0))
    flange = {"pos": robot.T_joint_flange[:3, 3], "quat": _quaternion(robot.T_joint_flange[:3, :3])}
    body.add_site(name="flange", **flange)
    body.add_body(name=PAYLOAD_BODY, **flange, **placeholder)
    model = spec.compile()
    for i, link in enumerate(robot.links, start=1):
        write_body(model, f"link{i}", link)
    write_body(model, PAYLOAD_BODY, InertialParameters.zero())
    return model


def write_body(model: Any, name: str, body: InertialParameters) -> None:
    """Give the MuJoCo body `name` these inertial parameters (in its own frame).

    Raises ArgumentError: the mass is negative, or the inertia has a negative principal moment.
    """
    moments, R = np.linalg.eigh(body.inertia)
    if body.mass < 0.0 or moments[0] < -1e-12 * (body.mass + moments[2]):  # of a rod it is rounding
        got = f"{body.mass:g} kg, {moments.tolist()} kg m^2"
        raise ArgumentError(f"{name}: expected mass and principal moments >= 0, got {got}")
    R[:, 2] *= np.sign(np.linalg.det(R))
    index, mujoco = model.body(name).id, import_optional("mujoco", "mujoco")
    model.body_mass[index] = body.mass
    model.body_ipos[index] = body.com
    model.body_iquat[index] = _quaternion(R)
    model.body_inertia[index] = np.maximum(moments, 0.0)
    model.body_sameframe[index] = 0  # the inertial frame is its own, never taken for the body's
    mujoco.mj_setConst(model, mujoco.MjData(model))  # what MuJoCo derives from masses


def _quaternion(R: FloatArray) -> FloatArray:
    """w, x, y, z of a rotation (3, 3)."""
    quaternion = np.empty(4)
    import_optional("mujoco", "mujoco").mju_mat2Quat(quaternion, np.ascontiguousarray(R).ravel())
    return quaternion


# The motor's side: chosen, in the order of a geared arm of this size; the link-side torque is free of them.
ARMATURE = (0.5, 0.5, 0.4, 0.4, 0.2, 0.2, 0.2)  # kg m^2
MOTOR_DAMPING = (2.0, 2.0, 2.0, 2.0, 1.0, 1.0, 1.0)  # N m s/rad
MOTOR_FRICTION = np.array((2.0, 2.0, 1.5, 1.5, 0.8, 0.8, 0.8))  # N m
JUMP = 0.02  # rad, between where the arm is and where a trajectory starts
MAX_PAYLOAD = 10.0  # kg, more than three times the arm's rated payload
RESTING = 0.02  # rad/s, |dq| of an arm at rest; eleven recordings of a standing Panda wander by 0.01 N m only
STIFFNESS, DAMPING = 40.0**2, 2.0 * 40.0  # 1/s^2, 1/s: errors decay at 40 rad/s, critically damped
PLANNED = 500  # samples of the reference that are computed at a time


def payload_cube(mass: float, com: ArrayLike) -> InertialParameters:
    """What a simulated arm carries: a cube of 10 cm with this mass, kg, at `com` (3,), m, along the flange's axes."""
    checks.number(mass, "payload mass", minimum=1e-3, maximum=MAX_PAYLOAD)
    return InertialParameters(mass, com, mass * 0.1**2 / 6.0 * np.eye(3))


def _streams(seed: int, name: str) -> list[np.random.Generator]:
    """Random numbers of the arm, the disturbance and the sensors."""
    streams = np.random.SeedSequence(int(checks.number(seed, name, minimum=0))).spawn(3)
    return [np.random.default_rng(stream) for stream in streams]


class SimulatedPanda:
    """An arm of the Panda's build on an exciting motion, sampled at 1 kHz. The same seed gives the same samples.

    robot: the model that an estimator would use; the true arm differs from it.
    seed: >= 0, of the true arm, the disturbance, the noise and (by default) the motion.
    realism: how far the arm departs from `robot`; at the real level by default.
    excitation: the motion; `exciting_motion(robot, seed)` by default.
    arm_excitation: the motion on which the true arm departs as far as `realism` says; by default `excitation`. One
        arm on several motions has one `seed` and one of these.
    noise_seed: >= 0, of disturbance and noise; `seed` by default.
    truth: an attribute, the payload carried now, in flange axes; of zero mass when there is none.
    Raises ArgumentError: the robot does not have 7 joints, or the motion has other joints.
    Raises MissingDependencyError: MuJoCo is not installed.
    """

    timestep = TIMESTEP

    def __init__(
        self,
        robot: RobotDescription,
        *,
        seed: int = 0,
        realism: Realism | None = None,
        excitation: FourierMotion | None = None,
        arm_excitation: FourierMotion | None = None,
        noise_seed: int | None = None,
    ) -> None:
        self.robot, self.realism = robot, realism or Realism()
        self.excitation = excitation or exciting_motion(robot, seed)
        joints, n = (robot.n, self.excitation.centre.size), len(ARMATURE)
        if joints != (n, n):
            raise ArgumentError(f"robot, excitation: expected {n} joints, got {joints[0]} and {joints[1]}")
        arm_rng, *noise = _streams(seed, "seed")
        disturbance_rng, sensor_rng = noise if noise_seed is None else _streams(noise_seed, "noise_seed")[1:]
        self.true_arm = perturbed_arm(robot, arm_excitation or self.excitation, self.realism, arm_rng)
        std = self.realism.residual * self.realism.disturbance_share * robot.residual.std
        correlation_time = self.realism.disturbance_time * robot.residual.correlation_time
        self._disturbance = OrnsteinUhlenbeck(std, correlation_time, self.timestep, disturbance_rng)
        self._sensors = Sensors(self.realism.sensors, self.true_arm.joint_offset, self.timestep, sensor_rng)
        self._build()

    def _build(self) -> None:
        """MuJoCo's models of the true arm and of the controller's, at the start of the motion, without a payload."""
        self._mujoco = mujoco = import_optional("mujoco", "mujoco")
        self._model, self._nominal = mujoco_model(self.true_arm.robot), mujoco_model(self.robot)
        self._model.dof_armature[:] = self._nominal.dof_armature[:] = ARMATURE
        self._model.dof_damping[:] = MOTOR_DAMPING
        self._data = mujoco.MjData(self._model)
        self._data.qpos[:], *_ = self.excitation(0.0)
        self._control = mujoco.MjData(self._nominal)
        self._samples = self._followed_since = 0
        self._path: Callable[[FloatArray], tuple[FloatArray, ...]] = self.excitation
        self._direction, self._scale = np.zeros((2, self.robot.n)), PRESLIDING / self.true_arm.presliding
        self._friction = np.empty((1, self.robot.n))
        self._push_end = -1
        self.truth = InertialParameters.zero()

    def step(self) -> StateSample:
        """The sample of the present instant; the arm then moves on by one time step."""
        data, stamp = self._data, self._samples * self.timestep
        friction_memory_kernel(self.true_arm.robot.friction.table, data.qvel[None], self._direction[:1], self._friction)
        motor = self._motor_torques()
        data.qfrc_applied[:] = motor - self._friction[0]
        if self._samples >= self._push_end:
            data.xfrc_applied[:] = 0.0
        self._mujoco.mj_forward(self._model, data)
        if self._samples == 0 or float(data.qvel @ data.qvel) > RESTING**2:  # what a model gets wrong stays at rest
            self._residual = self._disturbance.step()
        tau = motor + data.qfrc_passive - self._model.dof_armature * data.qacc + self._residual  # passive: damping
        measured = self._sensors.measure(data.qpos, data.qvel, tau)
        before = data.qpos * self._scale
        self._mujoco.mj_Euler(self._model, data)  # dq += h ddq, then q += h dq
        presliding_step(self._direction, before, data.qpos * self._scale)
        self._samples += 1
        return StateSample(stamp, *measured)

    def _reference(self) -> FloatArray:
        """(3, n): q, dq, ddq, where the arm should be now."""
        part, row = divmod(self._samples - self._followed_since, PLANNED)
        if row == 0:
            times: FloatArray = self.timestep * (PLANNED * part + np.arange(PLANNED, dtype=np.float64))
            self._planned = np.stack(self._path(times))
        return self._planned[:, row]

    def follow(self, trajectory: JointTrajectory) -> None:
        """Leave the excitation for a trajectory, which starts now at its time 0; the arm stays where it ends.

        Raises ArgumentError: it has other joints, or starts more than `JUMP` from where the arm should be now.
        """
        if trajectory.q.shape[1] != self.robot.n:
            raise ArgumentError(f"trajectory: expected {self.robot.n} joints, got {trajectory.q.shape[1]}")
        if (jump := float(np.abs(trajectory.q[0] - self._reference()[0]).max())) > JUMP:
            raise ArgumentError(f"trajectory: expected a start within {JUMP:g} rad of where the arm is, got {jump:.3f}")
        self._path, self._followed_since = trajectory, self._samples

    def attach(self, payload: InertialParameters) -> None:
        """Join a payload (flange axes), which already moves along with the flange: velocities do not jump.

        Raises ArgumentError: the payload is not physical, has no mass, or is heavier than `MAX_PAYLOAD`.
        """
        if not (0.0 < payload.mass <= MAX_PAYLOAD and payload.is_physical()):
            got = " ".join(str(payload).split())
            raise ArgumentError(f"payload: expected a body that can exist, of up to {MAX_PAYLOAD:g} kg, got {got}")
        write_body(self._model, PAYLOAD_BODY, payload)
        self.truth = payload

    def release(self) -> None:
        """Put the payload down, where there is one: the arm carries nothing from now on."""
        self.truth = InertialParameters.zero()
        write_body(self._model, PAYLOAD_BODY, self.truth)

    def apply_push(self, link: int, force: ArrayLike, duration: float) -> None:
        """Push the centre of mass of link 1..n with `force` (3,) N, in base axes, for `duration` s from now.

        A new push replaces one that lasts.

        Raises ArgumentError: `link` is not one of 1..n, `force` not a finite (3,) array, `duration` negative.
        """
        if link not in range(1, self.robot.n + 1):
            raise ArgumentError(f"link: expected a number from 1 to {self.robot.n}, got {link!r}")
        self._data.xfrc_applied[:] = 0.0
        self._data.xfrc_applied[int(link), :3] = checks.exactly(force, (3,), "force")  # body 0 is the world
        self._push_end = self._samples + round(checks.number(duration, "duration", minimum=0.0) / self.timestep)

    def record(self, duration: float) -> JointDataset:
        """The samples of the next `duration` s, with what is carried now; `attach` and `release` between recordings.

        Raises ArgumentError: the duration is below one time step.
        """
        count = round(checks.number(duration, "duration", minimum=self.timestep) / self.timestep)
        stamp, q, dq, tau = map(np.array, zip(*(self.step() for _ in range(count)), strict=True))
        return JointDataset(stamp, q, dq, tau, self.robot.joint_names, "simulated")

    def _motor_torques(self) -> FloatArray:
        """Torques (n,) behind the gear less the gear's friction; rotor inertia and damping are in the MuJoCo model.

        Computed torque along the reference, within the effort limits, with the nominal model:
            u = M(q) c + C(q, dq) dq + g(q) + armature c,   c = ddq_d + stiffness (q_d - q) + damping (dq_d - dq).
        Like the real controller it knows neither payload nor friction.
        """
        data, control, effort = self._data, self._control, self.robot.limits.effort
        q, dq, ddq = self._reference()
        control.qpos[:], control.qvel[:] = data.qpos, data.qvel
        control.qacc[:] = ddq + STIFFNESS * (q - data.qpos) + DAMPING * (dq - data.qvel)
        self._mujoco.mj_inverse(self._nominal, control)
        limited = np.minimum(np.maximum(control.qfrc_inverse, -effort), effort)  # np.clip takes three times as long
        return np.asarray(limited - MOTOR_FRICTION * self._direction[0])


def simulated_runs(
    robot: RobotDescription, motion: FourierMotion, payload: InertialParameters, loaded: str, seed: int = 0
) -> Iterator[JointDataset]:
    """One recording for each letter of `loaded`, A without and B with the payload, of one arm.

    robot: the model, from which the arm differs as a real one does, the same way in all runs.
    motion: of `weighing_motion`.
    seed: >= 0, of the arm and of the noise.
    Raises ArgumentError: what `SimulatedPanda` does not accept.
    Raises MissingDependencyError: MuJoCo is not installed.
    """
    make = partial(SimulatedPanda, robot, seed=seed, realism=Realism.repeating(), excitation=motion)
    arm_excitation = exciting_motion(robot, seed)
    for number, letter in enumerate(loaded):
        plant = make(arm_excitation=arm_excitation, noise_seed=1000 * seed + number + 1)
        if letter == "B":
            plant.attach(payload)
        run = plant.record(duration(motion))
        yield replace(run, stamp=run.stamp + number * (duration(motion) + 60.0), source=f"run {number + 1}")
